"""corruptions"""
