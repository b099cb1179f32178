package events

import "reflect"

// OldTypes are the versions that are read and no longer written, with the Go
// types of their data.
func OldTypes() map[string]reflect.Type {
	return map[string]reflect.Type{
		typeEpisodeCapturedV1: reflect.TypeFor[episodeCapturedV1](),
	}
}
