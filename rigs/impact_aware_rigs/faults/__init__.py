"""What goes wrong on the way between robot and controller, on purpose and repeatably."""
