"""One codec per message: library types to and from messages, duck-typed, without rclpy."""
