package seal

import "encoding/binary"

// Purposes keep what is wrapped for one use from being accepted in another.
const (
	purposeNames   = "names"
	purposeTenant  = "k1"
	purposeSubject = "k2"
	purposeRecord  = "k3"
	purposeName    = "sid"
	purposeValue   = "value"
	purposeRoot    = "root"
)

// appendField writes a field with its length before it, so that a row of fields
// can be read back in one way only.
func appendField(dst []byte, field string) []byte {
	dst = binary.AppendUvarint(dst, uint64(len(field)))
	return append(dst, field...)
}

// appendAAD writes associated data: the format, the purpose, and the fields that
// the purpose prescribes.
func appendAAD(dst []byte, purpose string, fields ...string) []byte {
	dst = append(dst, format)
	dst = appendField(dst, purpose)
	for _, field := range fields {
		dst = appendField(dst, field)
	}
	return dst
}

func (s Scope) appendWrapAAD(dst []byte) []byte {
	return appendAAD(dst, purposeSubject, s.Tenant, s.Subject, s.Class)
}

func (s Scope) appendRecordAAD(dst []byte, record string, l lineage) []byte {
	return append(appendAAD(dst, purposeRecord, s.Tenant, s.Subject, s.Class, record), l[:]...)
}

func (s Scope) appendValueAAD(dst []byte, l Label) []byte {
	return appendAAD(dst, purposeValue, s.Tenant, s.Subject, s.Class, l.Aggregate, l.Record, l.EventType, l.Part)
}
