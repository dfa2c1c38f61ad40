"""BBR as a controller of one's own, compared with Linux's."""
