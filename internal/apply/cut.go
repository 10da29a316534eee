// SPDX-License-Identifier: Apache-2.0

package apply

import "strings"

const (
	// NoteLimit is how many bytes the API takes as the note of an event. It refuses a longer event as a whole.
	NoteLimit = 1024
	// readable is how many bytes of one failure people are shown.
	readable = 300
)

// Cut keeps the front part of a text that has more bytes than the limit, and says that it was cut.
func Cut(text string, limit int) string {
	const mark = "… (cut)"
	if len(text) <= limit {
		return text
	}
	return strings.ToValidUTF8(text[:max(limit-len(mark), 0)], "") + mark
}

// brief is an error that is short enough for a condition or an event. Servers, and the admission of others even
// more so, may answer with several KB; all of that is in the log.
type brief struct{ full error }

func (b brief) Error() string { return Cut(b.full.Error(), readable) }

func (b brief) Unwrap() error { return b.full }
