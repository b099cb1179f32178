package words

// stopWord reports the English words that are in nearly every text and so say nothing about any. Negations stay: whether a
// fact is denied matters.
func stopWord(word string) bool {
	switch word {
	case "a", "an", "the", "this", "that", "these", "those",
		"i", "me", "my", "we", "us", "our", "you", "your", "he", "him", "his", "she", "her", "it", "its", "they", "them", "their",
		"am", "is", "are", "was", "were", "be", "been", "being", "do", "does", "did", "has", "have", "had",
		"and", "or", "but", "if", "so", "than", "as", "of", "at", "by", "for", "with", "to", "from", "in", "on", "into",
		"what", "which", "who", "whom", "when", "where", "why", "how", "there", "here",
		"will", "would", "can", "could", "should", "s", "t", "d", "m", "ll", "re", "ve":
		return true
	}
	return false
}
