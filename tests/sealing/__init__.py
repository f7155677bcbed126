"""Who may speak to the embedded server: nobody who does not hold the key."""
