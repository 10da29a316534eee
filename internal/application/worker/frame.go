// SPDX-License-Identifier: Apache-2.0

package worker

import (
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"

	kjson "sigs.k8s.io/json"

	"slipway.dev/slipway/internal/application/render"
)

// maxFrame is how many bytes a request or an answer may have: live objects are the largest.
const maxFrame = 8 << 20

// question is one request to a worker: one of the fields is set.
type question struct {
	Render *render.Request       `json:"render,omitempty"`
	Health *render.HealthRequest `json:"health,omitempty"`
	Define *render.Definition    `json:"define,omitempty"`
}

// answer ends a request, unless only Reached is set: that says how far it is.
type answer struct {
	Reached   *render.Reached     `json:"reached,omitempty"`
	Result    *render.Result      `json:"result,omitempty"`
	Health    *render.Health      `json:"health,omitempty"`
	Described *render.Description `json:"described,omitempty"`
	Problems  render.Problems     `json:"problems,omitempty"`
	// Exceeded says which limit was exceeded; the worker ends after it.
	Exceeded limit `json:"exceeded,omitempty"`
}

func (a answer) isLast() bool {
	return a.Result != nil || a.Health != nil || a.Described != nil || len(a.Problems) > 0 || a.Exceeded != ""
}

// writeFrame writes a value as JSON behind its length.
func writeFrame(w io.Writer, value any) error {
	raw, err := json.Marshal(value)
	if err != nil {
		return fmt.Errorf("encoding: %w", err)
	}
	return writeRaw(w, raw)
}

func writeRaw(w io.Writer, raw []byte) error {
	if len(raw) > maxFrame {
		return fmt.Errorf("%d bytes are more than the %d that go to or from a worker", len(raw), maxFrame)
	}
	frame := binary.BigEndian.AppendUint32(make([]byte, 0, 4+len(raw)), uint32(len(raw)))
	_, err := w.Write(append(frame, raw...))
	return err
}

// readFrame reads a value. The error is io.EOF when nothing is left.
func readFrame(r io.Reader, into any) error {
	var length [4]byte
	if _, err := io.ReadFull(r, length[:]); err != nil {
		if errors.Is(err, io.ErrUnexpectedEOF) {
			return fmt.Errorf("reading a length: %w", err)
		}
		return err
	}
	n := binary.BigEndian.Uint32(length[:])
	if n > maxFrame {
		return fmt.Errorf("a frame of %d bytes; at most %d are allowed", n, maxFrame)
	}
	raw := make([]byte, n)
	if _, err := io.ReadFull(r, raw); err != nil {
		return fmt.Errorf("reading a frame of %d bytes: %w", n, err)
	}
	// Whole numbers stay whole: CUE tells 3 and 3.0 apart, and so does the API server.
	if err := kjson.UnmarshalCaseSensitivePreserveInts(raw, into); err != nil {
		return fmt.Errorf("decoding: %w", err)
	}
	return nil
}
