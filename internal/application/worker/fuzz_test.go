// SPDX-License-Identifier: Apache-2.0

package worker

import (
	"bytes"
	"errors"
	"io"
	"testing"
)

// FuzzFrame: whatever comes out of a pipe is refused or read, and what is read is written back as something that reads the same.
func FuzzFrame(f *testing.F) {
	var good bytes.Buffer
	if err := writeFrame(&good, answer{Exceeded: limitTime}); err != nil {
		f.Fatal(err)
	}
	f.Add(good.Bytes())
	f.Add([]byte{0xff, 0xff, 0xff, 0xff})
	f.Add([]byte{0, 0, 0, 2, '{', '}'})
	f.Add([]byte("\x00\x00\x00\x15{\"health\":{\"n\":1.0}}"))
	f.Fuzz(func(t *testing.T, raw []byte) {
		if len(raw) >= 4 && raw[0] == 0 && raw[1] > 0 {
			return // frames of megabytes that do not come only cost time
		}
		var first, second answer
		if readFrame(bytes.NewReader(raw), &first) != nil {
			return
		}
		var pipe bytes.Buffer
		if err := writeFrame(&pipe, first); err != nil {
			t.Fatalf("what was read cannot be written: %v", err)
		}
		if err := readFrame(&pipe, &second); err != nil {
			t.Fatalf("what was written cannot be read: %v", err)
		}
		if first.isLast() != second.isLast() {
			t.Errorf("%v is read again as %v", first, second)
		}
		if err := readFrame(&pipe, &second); !errors.Is(err, io.EOF) {
			t.Errorf("behind the frame stands %v, want the end", err)
		}
	})
}
