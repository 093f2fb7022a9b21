"""One small file for each checked exercise: questions, properties, misconceptions."""
