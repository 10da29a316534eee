// SPDX-License-Identifier: Apache-2.0

package outbound

import (
	"cmp"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"unicode"
)

const (
	// MaxText is how many characters are told of what another system said.
	MaxText = 200
	// minSecret is how many characters a value must have to be worth hiding in the text of others: hiding shorter ones, such as
	// the 1 of ?v=1, would garble all of it and keep no secret.
	minSecret = 4
	hidden    = "[hidden]"
)

// Credentials are sent with each request of a visit: as a token, else as username and password, else not at all.
type Credentials struct {
	Username, Password, Token string
}

// String keeps credentials out of logs.
func (c Credentials) String() string { return hidden }

// GoString does so too.
func (c Credentials) GoString() string { return hidden }

func (c Credentials) authorize(r *http.Request) {
	switch {
	case c.Token != "":
		r.Header.Set("Authorization", "Bearer "+c.Token)
	case c.Username != "" || c.Password != "":
		r.SetBasicAuth(c.Username, c.Password)
	}
}

// Clean is a text of another system as people may be shown it: without the secrets of the visit, which it might have repeated, on
// one line, with printable characters only and not more than MaxText of them. The values of the query, and user and password
// of the address are secrets as well as the credentials.
func (v Visit) Clean(text string) string {
	text = strings.ToValidUTF8(text, "�")
	for _, secret := range v.secrets() {
		text = strings.ReplaceAll(text, secret, hidden)
	}
	var clean []rune
	for _, word := range strings.FieldsFunc(text, func(r rune) bool { return unicode.IsSpace(r) || !unicode.IsPrint(r) }) {
		if len(clean) > 0 {
			clean = append(clean, ' ')
		}
		clean = append(clean, []rune(word)...)
	}
	if len(clean) > MaxText {
		clean = append(clean[:MaxText-1], '…')
	}
	return string(clean)
}

// Words tell people of an answer: its status, why a redirect was not followed, and a Clean body.
func (v Visit) Words(t Trace, body string) string {
	words := strings.TrimSpace("it answers " + strconv.Itoa(t.Status) + " " + http.StatusText(t.Status))
	if t.Redirect != "" {
		words += " (" + t.Redirect + ")"
	}
	if body = v.Clean(body); body != "" {
		words += ": " + body
	}
	return words
}

// secrets are the texts that nobody may be shown, the longest first.
func (v Visit) secrets() []string {
	c := v.Credentials
	values := []string{c.Token, c.Username, c.Password, basic(c.Username, c.Password)}
	if u, err := url.Parse(v.Address); err == nil {
		password, _ := u.User.Password()
		values = append(values, u.User.Username(), password, basic(u.User.Username(), password), u.RawQuery, u.Fragment)
		for _, pair := range strings.Split(u.RawQuery, "&") {
			_, raw, _ := strings.Cut(pair, "=")
			values = append(values, raw)
			if value, err := url.QueryUnescape(raw); err == nil {
				values = append(values, value)
			}
		}
	}
	var all []string
	for _, value := range values {
		if len(value) >= minSecret {
			all = append(all, value, url.QueryEscape(value), url.PathEscape(value))
		}
	}
	slices.SortFunc(all, func(a, b string) int { return cmp.Compare(len(b), len(a)) })
	return all
}

func basic(username, password string) string {
	return base64.StdEncoding.EncodeToString([]byte(username + ":" + password))
}

// failure tells an error in other words.
type failure struct {
	message string
	cause   error
}

func (f *failure) Error() string { return f.message }

func (f *failure) Unwrap() error { return f.cause }

// reason is what went wrong with a call: without its URL, and without what differs from one try to the next, such as the port
// that was called from.
func reason(err error) string {
	var (
		call   *url.Error
		lookup *net.DNSError
		op     *net.OpError
		errno  syscall.Errno
		long   *http.MaxBytesError
	)
	switch {
	case errors.As(err, &lookup):
		return fmt.Sprintf("looking up %s: %s", lookup.Name, lookup.Err)
	case errors.As(err, &op) && errors.As(op, &errno):
		return op.Op + ": " + errno.Error()
	case errors.As(err, &op):
		return op.Op + ": " + op.Err.Error()
	case errors.As(err, &long):
		return fmt.Sprintf("the answer has more than %d bytes", long.Limit)
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
		return "the connection was closed before the answer was complete"
	case errors.As(err, &call):
		return call.Err.Error()
	default:
		return err.Error()
	}
}
