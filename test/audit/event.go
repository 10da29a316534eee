// SPDX-License-Identifier: Apache-2.0

package audit

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"time"

	auditv1 "k8s.io/apiserver/pkg/apis/audit/v1"
)

// Event is one finished write request of anything, also a refused one.
type Event struct {
	// Received is when the API server got the request; At is when it had answered.
	Received, At time.Time
	// UserAgent as the client sent it.
	UserAgent string
	// Verb, Group, Resource and Subresource say what was done to what.
	Verb, Group, Resource, Subresource string
	Namespace                          string
	// Name is empty for a deletecollection, and for a creation whose name the server chose and did not answer.
	Name string
	// Code is the HTTP status of the answer.
	Code int32
	// Asked and Answered are the bodies, as far as the log holds them.
	Asked, Answered json.RawMessage
}

// Accepted says whether the API server did what was asked.
func (e *Event) Accepted() bool { return e.Code >= 200 && e.Code < 300 }

// Unanswered says whether the client was not told what became of the request, as when it was killed: the API server then writes
// down a failure of its own, and may have done what was asked.
func (e *Event) Unanswered() bool { return e.Code == 0 || e.Code >= 500 }

// ReadEvents reads the writes from audit lines, in the order of the lines, and says how many bytes it used. A last line
// without its end is left. A line that is not an audit event is an error that names the line.
func ReadEvents(r io.Reader) ([]Event, int64, error) {
	var events []Event
	used, err := eachLine(r, func(line []byte) error {
		event, ok, err := parseEvent(line)
		if ok {
			events = append(events, event)
		}
		return err
	})
	return events, used, err
}

func parseEvent(line []byte) (Event, bool, error) {
	if len(bytes.TrimSpace(line)) == 0 {
		return Event{}, false, nil
	}
	var in auditv1.Event
	if err := json.Unmarshal(line, &in); err != nil {
		return Event{}, false, fmt.Errorf("decoding: %w", err)
	}
	if in.Stage != auditv1.StageResponseComplete || in.ObjectRef == nil || !writes(in.Verb) || strings.Contains(in.RequestURI, "dryRun=All") {
		return Event{}, false, nil
	}
	event := Event{
		Received: in.RequestReceivedTimestamp.Time, At: in.StageTimestamp.Time, UserAgent: in.UserAgent, Verb: in.Verb,
		Group: in.ObjectRef.APIGroup, Resource: in.ObjectRef.Resource, Subresource: in.ObjectRef.Subresource,
		Namespace: in.ObjectRef.Namespace, Name: in.ObjectRef.Name,
	}
	if in.ResponseStatus != nil {
		event.Code = in.ResponseStatus.Code
	}
	if in.RequestObject != nil {
		event.Asked = in.RequestObject.Raw
	}
	if in.ResponseObject != nil {
		event.Answered = in.ResponseObject.Raw
	}
	return event, true, nil
}
