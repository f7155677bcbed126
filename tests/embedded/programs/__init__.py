"""Small programs that the tests run as processes of their own."""
