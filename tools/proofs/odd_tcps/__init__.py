# Two TCPs that are legal but odd, their captures, and the accusations of lint and replay.
