// SPDX-License-Identifier: Apache-2.0

package receiver

import (
	"net/http"
	"net/http/httptest"
	"sync"
	"time"
)

// Answer answers with a status and a text.
func Answer(status int, text string) Behaviour {
	return AnswerWith(status, text, nil)
}

// AnswerWith answers with headers too.
func AnswerWith(status int, text string, header map[string]string) Behaviour {
	return func(_ *Receiver, w http.ResponseWriter, _ *http.Request) {
		for name, value := range header {
			w.Header().Set(name, value)
		}
		w.WriteHeader(status)
		_, _ = w.Write([]byte(text)) // whoever called may have gone
	}
}

// Redirect sends the caller elsewhere.
func Redirect(status int, to string) Behaviour {
	return AnswerWith(status, "", map[string]string{"Location": to})
}

// Hang keeps the caller until it goes away or the receiver is closed.
func Hang() Behaviour {
	return func(r *Receiver, _ http.ResponseWriter, request *http.Request) { r.hold(request, nil) }
}

// Leaving hangs, and closes left when the caller has gone.
func Leaving(left chan<- struct{}) Behaviour {
	return func(r *Receiver, w http.ResponseWriter, request *http.Request) {
		Hang()(r, w, request)
		close(left)
	}
}

// Hold keeps the caller until something is closed, and then does something else.
func Hold(until <-chan struct{}, then Behaviour) Behaviour {
	return func(r *Receiver, w http.ResponseWriter, request *http.Request) {
		if r.hold(request, until) {
			then(r, w, request)
		}
	}
}

// Delay does something else after a time.
func Delay(d time.Duration, then Behaviour) Behaviour {
	return func(r *Receiver, w http.ResponseWriter, request *http.Request) {
		over := make(chan struct{})
		timer := time.AfterFunc(d, func() { close(over) })
		defer timer.Stop()
		Hold(over, then)(r, w, request)
	}
}

// Lose takes the delivery and closes the connection before an answer: the caller cannot know whether it has arrived.
func Lose() Behaviour {
	return func(*Receiver, http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) }
}

// Stall answers with a status and the beginning of a text, and then hangs.
func Stall(status int, text string) Behaviour {
	return func(r *Receiver, w http.ResponseWriter, request *http.Request) {
		w.Header().Set("Content-Length", "1000000")
		Answer(status, text)(r, w, request)
		if flusher, ok := w.(http.Flusher); ok {
			flusher.Flush()
		}
		r.hold(request, nil)
	}
}

// Repeat answers a key for which it has an answer already with that one, and does something else for a new key: so a call has
// one effect, however often it is delivered.
func Repeat(first Behaviour) Behaviour {
	var mu sync.Mutex
	answers := map[string]*httptest.ResponseRecorder{}
	return func(r *Receiver, w http.ResponseWriter, request *http.Request) {
		mu.Lock()
		defer mu.Unlock()
		key := request.Header.Get(KeyHeader)
		answer := answers[key]
		if answer == nil {
			answer = httptest.NewRecorder()
			first(r, answer, request)
			answers[key] = answer
		}
		Answer(answer.Code, answer.Body.String())(r, w, request)
	}
}

// hold tells whether it was left because of until, while there is still somebody to answer.
func (r *Receiver) hold(request *http.Request, until <-chan struct{}) bool {
	select {
	case <-until:
		return true
	case <-request.Context().Done():
	case <-r.closed:
	}
	return false
}
