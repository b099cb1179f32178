package tombstones

import (
	"context"
	"fmt"

	"github.com/annals-memory/annals/events"
	"github.com/annals-memory/annals/events/token"
)

// keeper is the principal of what nobody asked for.
const keeper = "annals"

// ForgetDue forgets records of a tenant, given by its token, because their time is
// over: nobody asks for it, and no role is checked. It is for code that decides by
// a schedule, not for callers. All ids must be there, as in [Eraser.Forget], whose
// errors these are; without a tenant's key the error matches seal.ErrKeyDestroyed.
func (e *Eraser) ForgetDue(ctx context.Context, tenant string, cause events.Cause, ids []string) (Erasure, error) {
	t, err := e.keys.TenantByToken(ctx, tenant)
	if err != nil {
		return Erasure{}, fmt.Errorf("find tenant: %w", err)
	}
	j := &job{
		tenant: t, token: t.Token(), principal: token.Principal(t, keeper), erasure: e.newID(),
		cause: cause, scope: scopeRecord,
	}
	targets, err := e.byID(ctx, j, ids)
	if err != nil {
		return Erasure{}, err
	}
	return e.forget(ctx, j, targets)
}
