package seal

// Evict drops what is cached of one subject: its keys of all classes, the rows
// of its records and of its names. A tombstone calls for it, whoever wrote it,
// at the latest when the tombstone has been folded. For [Options.CacheTTL] from
// now nothing of the subject is cached again, so that the end of its keys is
// noticed at once although they may still be there now.
func (k *Keyring) Evict(tenant, sid string) {
	k.barred.set(ownerOf(tenant, sid), k.now())
	k.evictSubject(tenant, sid)
}

// EvictRecord does for records what [Keyring.Evict] does for a subject.
func (k *Keyring) EvictRecord(tenant string, records ...string) {
	for _, record := range records {
		k.barred.set(recordRowKey(tenant, record), k.now())
	}
	k.evictRecords(tenant, records)
}

// EvictTenant drops what is cached of a tenant and of all its subjects.
func (k *Keyring) EvictTenant(tenant string) {
	k.cache.evict(tenantRowKey(tenant))
	k.cache.evict("k2." + tenant)
	k.kept.evictUnder(tenant)
}

// EvictExpired drops the keys and rows whose time is over. They are never used,
// but stay in memory until something pushes them out; calling this every so
// often bounds that too.
func (k *Keyring) EvictExpired() {
	k.cache.expire(k.now())
	k.kept.expire(k.now())
}

// evictSubject bars nothing: who destroys keys evicts after it too, and then
// nobody can load them again.
func (k *Keyring) evictSubject(tenant, sid string) {
	k.cache.evict("k2." + tenant + "." + sid)
	k.kept.evictOwner(ownerOf(tenant, sid))
}

func (k *Keyring) evictRecords(tenant string, records []string) {
	keys := make([]string, len(records))
	for i, record := range records {
		keys[i] = recordRowKey(tenant, record)
	}
	k.kept.evict(keys...)
}
