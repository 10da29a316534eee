// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"strings"
	"time"

	"slipway.dev/slipway/test/audit"
)

// Who the requests are counted for; any other client goes by its product's name.
const (
	byManager = "manager"
	byNodes   = "nodes"
	byBench   = "bench"
)

// benchAgent is the bench's own user agent.
const benchAgent = "slipway-bench"

// count is how often something was asked for. Refused requests count too: they cost the API server as much.
type count struct {
	Requests  int `json:"requests"`
	Conflicts int `json:"conflicts,omitempty"`
	Refused   int `json:"refused,omitempty"` // with any other status of 400 and up
}

// request is what requests are counted by.
type request struct {
	Verb     string
	Resource string // with the subresource behind a slash
}

func (r request) String() string { return r.Verb + " " + r.Resource }

func (r request) read() bool { return r.Verb == "get" || r.Verb == "list" || r.Verb == "watch" }

// tally counts requests by who asked and what for.
type tally map[string]map[request]*count

// event is what is counted of an audit event. The rest of a line, the objects, is most of it and is not even decoded.
type event struct {
	Stage      string `json:"stage"`
	Verb       string `json:"verb"`
	RequestURI string `json:"requestURI"`
	UserAgent  string `json:"userAgent"`
	ObjectRef  *struct {
		Resource    string `json:"resource"`
		Name        string `json:"name"`
		Subresource string `json:"subresource"`
	} `json:"objectRef"`
	ResponseStatus struct {
		Code int `json:"code"`
	} `json:"responseStatus"`
	// Received stands behind the objects, so a log that has objects does not tell it.
	Received time.Time `json:"requestReceivedTimestamp"`
}

// tallyFile counts what an audit log says from one offset to another, in bytes. It never holds more than one line.
func tallyFile(path string, from, to int64, managerAgent string) (tally, error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("opening the audit log: %w", err)
	}
	defer file.Close()
	return tallyLines(io.NewSectionReader(file, from, max(0, to-from)), managerAgent)
}

// tallyLines counts audit lines.
func tallyLines(r io.Reader, managerAgent string) (tally, error) {
	counts := tally{}
	if err := eachEvent(r, func(e event) { counts.add(e, managerAgent) }); err != nil {
		return nil, err
	}
	return counts, nil
}

// eachEvent reads the requests for resources from audit lines. A last line without its end was still being written and is
// left out.
func eachEvent(r io.Reader, do func(event)) error {
	in := bufio.NewReaderSize(r, 1<<20)
	for number := 1; ; number++ {
		line, err := in.ReadBytes('\n')
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return fmt.Errorf("reading the audit log: %w", err)
		}
		e, err := parseEvent(line)
		if err != nil {
			return fmt.Errorf("audit line %d: %w", number, err)
		}
		if e != nil {
			do(*e)
		}
	}
}

// parseEvent reads the part of a line before the objects. It returns nil for what is no request for a resource.
func parseEvent(line []byte) (*event, error) {
	line = bytes.TrimSpace(line)
	if len(line) == 0 {
		return nil, nil
	}
	head := line
	for _, object := range [][]byte{[]byte(`,"requestObject":`), []byte(`,"responseObject":`)} {
		// Quotes inside of strings are escaped, so this is a key. The API server writes all that counts before it.
		if at := bytes.Index(head, object); at >= 0 {
			head = append(head[:at:at], '}')
		}
	}
	var e event
	if err := json.Unmarshal(head, &e); err != nil {
		return nil, fmt.Errorf("decoding: %w", err)
	}
	if e.ObjectRef == nil || e.ObjectRef.Resource == "" {
		return nil, nil
	}
	// A watch counts when it begins: it ends long after the scenario that needed it.
	counted := e.Stage == "ResponseComplete" && e.Verb != "watch" || e.Stage == "ResponseStarted" && e.Verb == "watch"
	if !counted || strings.Contains(e.RequestURI, "dryRun=All") {
		return nil, nil
	}
	return &e, nil
}

func (t tally) add(e event, managerAgent string) {
	who := audit.Product(e.UserAgent)
	switch {
	case strings.HasPrefix(e.UserAgent, managerAgent):
		who = byManager
	case who == "slipway-node" || who == "kubelet":
		who = byNodes
	case who == benchAgent:
		who = byBench
	case who == "":
		who = "unknown"
	}
	key := request{Verb: e.Verb, Resource: e.ObjectRef.Resource}
	if e.ObjectRef.Subresource != "" {
		key.Resource += "/" + e.ObjectRef.Subresource
	}
	if t[who] == nil {
		t[who] = map[request]*count{}
	}
	c := t[who][key]
	if c == nil {
		c = &count{}
		t[who][key] = c
	}
	c.Requests++
	switch code := e.ResponseStatus.Code; {
	case code == http.StatusConflict:
		c.Conflicts++
	case code >= http.StatusBadRequest:
		c.Refused++
	}
}

// writes adds up the writes of one client, and how many of them were conflicts. Without status, the writes of
// statuses of anything but pods are left out: they are one per object and change, not one per pod.
func (t tally) writes(who string, status bool) (requests, conflicts int) {
	for key, c := range t[who] {
		resource, sub, _ := strings.Cut(key.Resource, "/")
		if key.read() || !status && sub == "status" && resource != "pods" || resource == "events" || resource == "leases" {
			continue
		}
		requests += c.Requests
		conflicts += c.Conflicts
	}
	return requests, conflicts
}

// reads adds up the reads of one client.
func (t tally) reads(who string) int {
	sum := 0
	for key, c := range t[who] {
		if key.read() {
			sum += c.Requests
		}
	}
	return sum
}

// knowsReads says whether the log has reads at all: many policies leave them out.
func (t tally) knowsReads() bool {
	for who := range t {
		if t.reads(who) > 0 {
			return true
		}
	}
	return false
}

// plain is the tally for a file: text keys only.
func (t tally) plain() map[string]map[string]count {
	all := map[string]map[string]count{}
	for who, requests := range t {
		all[who] = map[string]count{}
		for key, c := range requests {
			all[who][key.String()] = *c
		}
	}
	return all
}
