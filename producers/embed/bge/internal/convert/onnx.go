package main

import (
	"encoding/binary"
	"errors"
	"fmt"
)

// errSource is the cause of every fault of the input.
var errSource = errors.New("source is not the expected model")

// The numbers of types in ONNX.
const (
	typeFloat = 1
	typeUint8 = 2
	typeInt8  = 3
)

// tensor is one initializer.
type tensor struct {
	name string
	dims []uint64
	typ  uint64
	raw  []byte
}

// graph is what is read of a model: its tensors by name, and by the name of a node the tensor that it multiplies by.
type graph struct {
	tensors map[string]tensor
	factors map[string]string
}

// fields calls f with each field of a message in the wire format of protocol buffers.
func fields(b []byte, f func(number, value uint64, content []byte) error) error {
	for len(b) > 0 {
		key, n := binary.Uvarint(b)
		if n <= 0 {
			return fmt.Errorf("%w: bad key", errSource)
		}

		b = b[n:]

		var (
			value   uint64
			content []byte
		)

		switch key & 7 {
		case 0, 2:
			if value, n = binary.Uvarint(b); n <= 0 {
				return fmt.Errorf("%w: bad number", errSource)
			}

			b = b[n:]

			if key&7 == 0 {
				break
			}

			if value > uint64(len(b)) {
				return fmt.Errorf("%w: cut short", errSource)
			}

			content, b = b[:value], b[value:]
		case 1, 5:
			size := 4
			if key&7 == 1 {
				size = 8
			}

			if len(b) < size {
				return fmt.Errorf("%w: cut short", errSource)
			}

			b = b[size:]
		default:
			return fmt.Errorf("%w: bad type of a field", errSource)
		}

		if err := f(key>>3, value, content); err != nil {
			return err
		}
	}

	return nil
}

// readGraph reads a model. The numbers of the fields are those of the ONNX schema.
func readGraph(model []byte) (graph, error) {
	g := graph{tensors: map[string]tensor{}, factors: map[string]string{}}
	err := fields(model, func(number, _ uint64, content []byte) error {
		if number != 7 { // graph
			return nil
		}

		return fields(content, func(number, _ uint64, content []byte) error {
			switch number {
			case 1: // node
				return g.readNode(content)
			case 5: // initializer
				return g.readTensor(content)
			}

			return nil
		})
	})

	return g, err
}

func (g graph) readNode(b []byte) error {
	var (
		name, op string
		inputs   []string
	)

	err := fields(b, func(number, _ uint64, content []byte) error {
		switch number {
		case 1:
			inputs = append(inputs, string(content))
		case 3:
			name = string(content)
		case 4:
			op = string(content)
		}

		return nil
	})
	if op == "MatMulInteger" && len(inputs) > 1 {
		g.factors[name] = inputs[1]
	}

	return err
}

func (g graph) readTensor(b []byte) error {
	var t tensor

	err := fields(b, func(number, value uint64, content []byte) error {
		switch number {
		case 1:
			if content == nil {
				t.dims = append(t.dims, value)
			}

			for len(content) > 0 {
				d, n := binary.Uvarint(content)
				if n <= 0 {
					return fmt.Errorf("%w: bad dimension", errSource)
				}

				t.dims, content = append(t.dims, d), content[n:]
			}
		case 2:
			t.typ = value
		case 8:
			t.name = string(content)
		case 4, 9: // Numbers as floats, or as they lie in memory: the same bytes.
			t.raw = append(t.raw, content...)
		case 5: // Small numbers of other types.
			if content == nil {
				t.raw = append(t.raw, byte(value))
			}

			for len(content) > 0 {
				v, n := binary.Uvarint(content)
				if n <= 0 {
					return fmt.Errorf("%w: bad number", errSource)
				}

				t.raw, content = append(t.raw, byte(v)), content[n:]
			}
		}

		return nil
	})
	g.tensors[t.name] = t

	return err
}

// bytes returns a tensor's numbers, provided that they are of this type and shape.
func (g graph) bytes(name string, typ uint64, dims ...uint64) ([]byte, error) {
	t, ok := g.tensors[name]
	if !ok {
		return nil, fmt.Errorf("%w: tensor %q is missing", errSource, name)
	}

	size := uint64(1)
	if typ == typeFloat {
		size = 4
	}

	same := t.typ == typ && len(t.dims) == len(dims)

	for i, d := range dims {
		same = same && t.dims[i] == d
		size *= d
	}

	if !same || uint64(len(t.raw)) != size {
		return nil, fmt.Errorf("%w: tensor %q has another type or shape", errSource, name)
	}

	return t.raw, nil
}
