// SPDX-License-Identifier: Apache-2.0

package outbound

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
)

// Request is one request to the address of a visit.
type Request struct {
	Method string
	Header http.Header
	// Body is nil for none.
	Body []byte
}

// Answer is what came back.
type Answer struct {
	Trace
	Body []byte
	// Incomplete is why Body is not all of it; nil when it is.
	Incomplete error
}

// Call sends one request, and reads the answer as far as the visit allows. Its errors are those of Visit; that a body cannot
// be read to its end is none.
func (c *Client) Call(ctx context.Context, v Visit, r Request) (Answer, error) {
	var answer Answer
	trace, err := c.Visit(ctx, v, func(ctx context.Context, client *http.Client) error {
		request, err := http.NewRequestWithContext(ctx, r.Method, v.Address, bytes.NewReader(r.Body))
		if err != nil {
			return fmt.Errorf("making the request: %w", err)
		}
		for name, values := range r.Header {
			request.Header[name] = values
		}
		response, err := client.Do(request)
		if err != nil {
			return err
		}
		defer func() { _ = response.Body.Close() }() // it was only read
		answer.Body, err = io.ReadAll(response.Body)
		if late := context.Cause(ctx); err != nil && late != nil {
			err = late
		}
		if err != nil {
			answer.Incomplete = &failure{message: v.Clean(reason(err)), cause: err}
		}
		return nil
	})
	answer.Trace = trace
	return answer, err
}
