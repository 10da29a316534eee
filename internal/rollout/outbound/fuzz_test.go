// SPDX-License-Identifier: Apache-2.0

package outbound

import (
	"net/url"
	"regexp"
	"strings"
	"testing"
)

var plain = regexp.MustCompile(`^[A-Za-z0-9]{4,}$`)

// Whatever a receiver says, no secret of at least 4 characters is repeated.
func FuzzCleanHidesSecrets(f *testing.F) {
	f.Fuzz(func(t *testing.T, secret, text string) {
		v := visit("http://a.test/?token=" + url.QueryEscape(secret))
		clean := v.Clean(text + secret + text)
		if n := len([]rune(clean)); n > MaxText {
			t.Errorf("%d characters, want at most %d", n, MaxText)
		}
		// Others could come about by what is put in place of a secret.
		if plain.MatchString(secret) && !strings.Contains(hidden, secret) && strings.Contains(clean, secret) {
			t.Errorf("%q is told in %q", secret, clean)
		}
	})
}
