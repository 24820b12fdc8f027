"""What captures and logs of real connections show about their start-up."""
