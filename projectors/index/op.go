package index

// Op is one operation on the index: a [Doc] to put, a [Vector] to set, an [Update], a [Removal] or a [SubjectRemoval].
// Operations are applied in log order.
type Op interface{ op() }

func (Doc) op()            {}
func (Vector) op()         {}
func (Update) op()         {}
func (Removal) op()        {}
func (SubjectRemoval) op() {}

// Update changes what may change on a document that stays the same text. Nil fields stay as they are. An update without a
// document, of another subject, or with a Seq below that of the document or of its last update is dropped without an error.
type Update struct {
	// Tenant, Subject and ID name the document.
	Tenant, Subject, ID string
	// Seq is the log position of the event that makes the change.
	Seq uint64
	// ValidFromUS and ValidToUS are the new bounds of validity in unix microseconds.
	ValidFromUS, ValidToUS *int64
	// ExpiresUS is the new time of expiry in unix microseconds; zero means never.
	ExpiresUS *int64
	// Trust is the new trust class.
	Trust *uint8
	// Origins are the new origins.
	Origins *[]Origin
}

// Validate reports the first field that is out of range as [ErrTenant], [ErrToken] or [ErrDocument].
func (u *Update) Validate() error {
	if u.Origins != nil {
		if err := checkOrigins(*u.Origins); err != nil {
			return err
		}
	}
	return checkKey(u.Tenant, u.Subject, u.ID)
}

// Removal removes one document with its terms and vectors. It does nothing when the subject has no such document.
type Removal struct{ Tenant, Subject, ID string }

// Validate reports the first field that is out of range as [ErrTenant] or [ErrToken].
func (r *Removal) Validate() error { return checkKey(r.Tenant, r.Subject, r.ID) }

// SubjectRemoval removes every document of one subject.
type SubjectRemoval struct{ Tenant, Subject string }

// Validate reports the first field that is out of range as [ErrTenant] or [ErrToken].
func (r *SubjectRemoval) Validate() error { return checkKey(r.Tenant, r.Subject, r.Subject) }
