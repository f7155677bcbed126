"""Model providers: wire protocols, streams, credentials."""
