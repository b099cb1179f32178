package words

// Version names the rules of [Terms] as a whole. Whoever changes a rule changes it too: an index is searched with the
// version that it was made with, and one of another version is built beside it. Digits and letters only.
const Version = "2"
