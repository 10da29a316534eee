// SPDX-License-Identifier: Apache-2.0

package outbound

import (
	"net/url"
	"testing"
)

func TestAllowedHosts(t *testing.T) {
	for name, tt := range map[string]struct {
		list     []string
		yes, not []string
	}{
		"an empty list allows all": {nil, []string{"http://a", "https://[::1]:9"}, nil},
		"a name allows itself on any port": {
			[]string{"Approvals.example.com"},
			[]string{"http://approvals.example.com", "https://APPROVALS.example.com.:8443/x"},
			[]string{"http://example.com", "http://x.approvals.example.com", "http://approvals.example.com.evil.test", "http://evil.test/approvals.example.com", "http://approvals.example.com@evil.test"},
		},
		"a suffix allows what is below it": {
			[]string{"*.example.com"},
			[]string{"http://a.example.com", "http://a.b.example.com:1"},
			[]string{"http://example.com", "http://badexample.com", "http://a.example.com.evil.test"},
		},
		"a port allows only itself": {
			[]string{"a.test:8443", "*.b.test:80", "c.test:443"},
			[]string{"https://a.test:8443", "http://x.b.test", "https://c.test"},
			[]string{"https://a.test", "http://x.b.test:81", "https://x.b.test", "http://c.test"},
		},
		"addresses are compared as such": {
			[]string{"10.0.0.7", "fd00::7", "[fd00:0::8]:90"},
			[]string{"http://10.0.0.7:1", "http://[fd00:0:0::7]", "http://[::ffff:10.0.0.7]", "http://[fd00::8]:90"},
			[]string{"http://10.0.0.70", "http://[fd00::8]", "http://[fd00::9]", "http://0x0a.0.0.7"},
		},
		"several add up": {[]string{"a.test", " b.test "}, []string{"http://a.test", "http://b.test"}, []string{"http://c.test"}},
	} {
		t.Run(name, func(t *testing.T) {
			list, err := parseAllowList(tt.list)
			if err != nil {
				t.Fatal(err)
			}
			for allowed, urls := range map[bool][]string{true: tt.yes, false: tt.not} {
				for _, text := range urls {
					u, err := url.Parse(text)
					if err != nil {
						t.Fatal(err)
					}
					if got := list.allows(u); got != allowed {
						t.Errorf("%s: allowed %t, want %t", text, got, allowed)
					}
				}
			}
		})
	}
	for _, bad := range []string{"", "*", "*.", "http://a.test", "a.test/x", "a*.test", "*.*.test", "u@a.test", "a b"} {
		if _, err := New(Options{AllowHosts: []string{bad}}); err == nil {
			t.Errorf("%q passes as a host", bad)
		}
	}
}
