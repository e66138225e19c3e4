"""Plants: MuJoCo scenes, flexible joints, small models of the papers."""
