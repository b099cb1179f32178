// Package seal encrypts everything a person could recognise before it reaches
// the log, and keeps the chain of keys whose destruction is forgetting.
//
// # The chain
//
//	K0  root            a file of mode 0600, or a KMS; never a row
//	 │ wraps
//	 ├─ instance key    row  names                          tenant name → token
//	 │
//	K1  tenant          row  k1.<tenant>                    and the index seed
//	 │ wraps
//	 ├─ subject id      row  sid.<tenant>.<hash of name>    outside name → random id
//	 │
//	K2  subject, class  row  k2.<tenant>.<subject>.<class>  class = consent category
//	 │ wraps
//	K3  record          row  k3.<tenant>.<record>           and the record's note
//	 │ seals
//	 ▼
//	sealed bytes        in events, views, checkpoints, artifacts
//
// A wrapped key never sits inside an event: an immutable event that carried its
// own key could not be forgotten. Wrapped keys are rows behind the [Rows] port,
// which can be removed physically one by one. To forget one record destroy its
// K3, to withdraw a consent destroy one K2, to forget a person destroy the K2s
// of one subject whatever the number of records, to part with a tenant destroy
// its K1.
//
// Names never become tokens by themselves. A tenant's token is a keyed hash
// under the instance key; a subject's id is random and found through a row that
// can be deleted; a class is a keyed hash under the tenant's index key. Subject
// names and categories are put into Unicode normalization form C before they
// are hashed, so that two spellings of the same characters are one name; case
// and blanks are significant. Tenant names are taken byte for byte.
//
// # Guarantees
//
//   - Sealed bytes open only under the tenant, subject, class, aggregate,
//     record, event type and part that they were sealed for. Those are the
//     associated data, each field with its length before it, so that no two
//     different sets of fields give the same bytes.
//   - A changed bit anywhere in sealed bytes or in a row is [ErrTampered].
//   - A missing row is [ErrKeyDestroyed], which says the level and never a value.
//   - A record made under a K2 that was destroyed is [ErrKeyDestroyed] even when
//     the subject has a new K2 since, for a record's row names the K2's lineage.
//     Creating a record that exists never makes a K2.
//   - What a keyring destroys it never opens again. K1 and K2 are cached
//     unwrapped, the rows of records and of names as they are stored, all in
//     bounded caches and for at most [Options.CacheTTL]. Destroying through a
//     keyring evicts from its caches before and after, and a load that overlaps
//     with an eviction is not cached.
//   - A keyring that is told of a tombstone ([Keyring.Evict],
//     [Keyring.EvictRecord]) caches nothing of what it ends for
//     [Options.CacheTTL] from then on: while the keys are still there they are
//     read for each use, and from the moment they are destroyed, by whichever
//     process, nothing opens.
//   - That a row is missing is never cached, so that what is created anywhere is
//     there at once.
//   - [Keyring.Record], [Keyring.CreateRecord] and [Tenant.SubjectID] ask the
//     store for the row itself, so that what is decided by them is decided by
//     what is there. Only opening, [Keyring.CachedRecord] and
//     [Tenant.FindSubject] take a cached row.
//   - Concurrent creators of the same tenant, subject id, K2 or record agree on
//     one winner, across processes.
//   - Keys are never printed: [Secret] redacts itself everywhere, and errors
//     name levels and rules, not values.
//   - Rotation ([Keyring.RotateRoot], [Keyring.RotateTenant],
//     [Keyring.RotateSubject], and the Finish of each) re-wraps survivors under a
//     fresh parent, so that rows lingering in backups and Raft logs die with the
//     old parent. It can be interrupted at any point and run again; no token or id
//     changes.
//   - [Keyring.RootEpochs] says since when the root has its key, and when the one
//     before was destroyed: no copy of the rows from before can be opened then.
//
// # What is not guaranteed
//
//   - A key that another process destroyed is noticed when the cached copy
//     expires, [Options.CacheTTL] at the latest, unless that process' tombstone
//     makes this one call [Keyring.Evict] or [Keyring.EvictRecord]. In that time
//     this keyring still opens what it protects, and what it creates under the
//     destroyed key will never open elsewhere. Since the tombstone comes before
//     the end of the keys, who reads the log is told in time; a key that is
//     destroyed without a tombstone has nothing but the time to live.
//   - More than some sixteen thousand tombstones within [Options.CacheTTL] push
//     out the memory of the first ones: for what those end the time to live
//     counts again.
//   - The package does not know tombstones. A late writer may create a new K2
//     for a forgotten subject id; refusing such a write is the caller's duty.
//   - A record's id must not be used again after the record was destroyed: bytes
//     sealed under the old key would then be [ErrTampered], like damage. The same
//     holds for a tenant that is created anew before [Keyring.DestroyTenant] has
//     returned nil.
//   - Cached keys are cleared when they leave the cache, but Go may have copied
//     them, and the expanded key inside a cipher lives until the garbage
//     collector takes it. A heap dump, swap or a core file can hold keys.
//   - Destroying a row is only as physical as the [Rows] implementation, and
//     copies in backups die with the rotation of the parent, not before.
//   - A rotation leaves the former wrappings of rows in the files of the store
//     until it uses their space. They are dead when the rotation is finished;
//     between its steps a row that is destroyed can still be there as it was
//     before, under a key that the end of the rotation destroys.
//   - Overwriting the file of a former root is only as physical as the file system
//     and the disk below it, and reaches no copy of the file.
//   - Lengths, equality of tokens, and the number of records are not hidden.
//   - Sealed bytes can be replayed at their own place: an older sealed value of
//     the same label opens. The log's order says which one is current.
//   - Nonces are random, so that one key must not seal more than 2^32 messages
//     (NIST SP 800-38D, section 8.3). A K3 seals the few parts of one record; a
//     K2 is far below that with fewer than four thousand million records.
//
// # Sources
//
// AES-256-GCM with random 96-bit nonces as in NIST SP 800-38D; HKDF-SHA256 as in
// RFC 5869; HMAC-SHA256 as in RFC 2104; base32 as in RFC 4648, lower case and
// without padding.
package seal
