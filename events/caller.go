package events

import "slices"

// Role is what a credential allows.
type Role string

// The roles. They do not contain each other.
const (
	RoleAgent    Role = "agent"
	RoleReviewer Role = "reviewer"
	RoleAuditor  Role = "auditor"
	RoleAdmin    Role = "admin"
)

// Caller is who is asking. It is made from a verified credential only; nothing
// in a request can change it.
type Caller struct {
	// Tenant is the outside name of the tenant, any Unicode string.
	Tenant string
	// Principal is the stable name of who acts, unique in the tenant.
	Principal string
	Roles     []Role
	// Trust is that of the authenticated channel.
	Trust Trust
}

// Has reports whether the caller has any of the roles.
func (c Caller) Has(roles ...Role) bool {
	return slices.ContainsFunc(roles, func(r Role) bool { return slices.Contains(c.Roles, r) })
}
