// SPDX-License-Identifier: Apache-2.0

package outbound

import (
	"fmt"
	"io"
	"net/http"
	"strconv"
	"time"
)

// trip sends the requests of one visit.
type trip struct {
	client  *Client
	visit   Visit
	origin  string
	through http.RoundTripper
	trace   Trace
}

// RoundTrip implements http.RoundTripper.
func (t *trip) RoundTrip(request *http.Request) (*http.Response, error) {
	if origin(request.URL) != t.origin { // whoever made the request has lost its way
		return nil, fmt.Errorf("%w: %s was to be visited", ErrRefused, t.origin)
	}
	request = request.Clone(request.Context())
	request.Header.Set("User-Agent", t.client.userAgent)
	t.visit.Credentials.authorize(request)
	response, err := t.through.RoundTrip(request)
	if err != nil {
		return nil, err
	}
	t.trace.Status = response.StatusCode
	t.trace.RetryAfter = retryAfter(response.Header.Get("Retry-After"), t.client.clock.Now())
	t.trace.Complete = response.Body == http.NoBody
	response.Body = &watchedBody{ReadCloser: http.MaxBytesReader(nil, response.Body, t.visit.MaxBody), complete: &t.trace.Complete}
	return response, nil
}

// watchedBody notes when it was read to its end.
type watchedBody struct {
	io.ReadCloser
	complete *bool
}

func (b *watchedBody) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	if err == io.EOF {
		*b.complete = true
	}
	return n, err
}

// redirect decides whether a redirect is followed. If not, it is the answer.
func (t *trip) redirect(next *http.Request, before []*http.Request) error {
	switch {
	case t.visit.Stay != nil && t.visit.Stay(next.Response.StatusCode):
	case next.Method != http.MethodGet || before[0].Method != http.MethodGet:
		t.trace.Redirect = "redirects of a " + before[0].Method + " are not followed"
	case origin(next.URL) != t.origin:
		t.trace.Redirect = "redirects to another scheme, host or port are not followed"
	case len(before) > maxRedirects:
		t.trace.Redirect = fmt.Sprintf("more than %d redirects are not followed", maxRedirects)
	default:
		return nil
	}
	return http.ErrUseLastResponse
}

// retryAfter reads the header, which holds seconds or a date. What cannot be read asks for nothing.
func retryAfter(header string, now time.Time) time.Duration {
	if seconds, err := strconv.ParseInt(header, 10, 32); err == nil {
		return max(time.Duration(seconds)*time.Second, 0)
	}
	if date, err := http.ParseTime(header); err == nil {
		return max(date.Sub(now), 0)
	}
	return 0
}

// IsTemporary tells whether an answer of the status may be another one later.
func IsTemporary(status int) bool {
	switch status {
	case http.StatusRequestTimeout, http.StatusTooEarly, http.StatusTooManyRequests:
		return true
	default:
		return status >= http.StatusInternalServerError
	}
}
