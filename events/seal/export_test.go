package seal

// CrashAfter makes the root fail with err from its n-th write of the file on, as
// if the process had ended there.
func (r *FileRoot) CrashAfter(n int, err error) {
	r.crash = func() error {
		if n--; n < 0 {
			return err
		}
		return nil
	}
}

// FormatRootV1 writes a root file of the first version.
func FormatRootV1(id string, key []byte) []byte { return formatRootV1(id, newSecret(key)) }
