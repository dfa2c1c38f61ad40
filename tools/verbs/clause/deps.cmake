# Requirements and their citations, suggestions.
set(LIBS lockstep_process lockstep_requirements lockstep_text)
