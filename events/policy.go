package events

// PolicyActivated puts a version of a policy into force. The aggregate's id is
// the token of the policy's name.
type PolicyActivated struct {
	Policy PolicyRef `json:"policy"`
	// Text is the policy itself; a policy is no personal data.
	Text string `json:"text"`
}
