// A client with the net/http of Go: go run client.go MODE
package main

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"strconv"
	"strings"
	"sync"
	"time"
)

var base, key = os.Getenv("CONFORM_PROXY_URL"), os.Getenv("CLIENT_KEY")

func must[T any](value T, err error) T {
	if err != nil {
		panic(err)
	}
	return value
}

func send(client *http.Client, method, path, body string) (*http.Response, []byte) {
	request := must(http.NewRequest(method, base+path, strings.NewReader(body)))
	request.Header.Set("Authorization", "Bearer "+key)
	if body != "" {
		request.Header.Set("Content-Type", "application/json")
	}
	answer := must(client.Do(request))
	defer answer.Body.Close()
	return answer, must(io.ReadAll(answer.Body))
}

// ask lists once: whether it was refused, and what Retry-After says.
func ask(client *http.Client) (bool, string) {
	answer, _ := send(client, "GET", "/pets?limit=1", "")
	return answer.StatusCode == http.StatusTooManyRequests, answer.Header.Get("Retry-After")
}

// told is the time to wait, for both forms of RFC 9110.
func told(value string) time.Duration {
	if seconds, err := strconv.Atoi(value); err == nil {
		return time.Duration(seconds) * time.Second
	}
	return time.Until(must(http.ParseTime(value)))
}

// together runs goroutines and waits for them.
func together(count int, work func()) {
	var group sync.WaitGroup
	for at := 0; at < count; at++ {
		group.Add(1)
		go func() { defer group.Done(); work() }()
	}
	group.Wait()
}

// gated goroutines share a gate, which the first refusal closes; each has a client of its own or that of all.
func gated(count, each int, client func() *http.Client) {
	var lock sync.Mutex
	var until time.Time
	together(count, func() {
		mine := client()
		for done := 0; done < each; time.Sleep(10 * time.Millisecond) {
			lock.Lock()
			left := time.Until(until)
			lock.Unlock()
			if left > 0 {
				time.Sleep(left)
				continue
			}
			refused, value := ask(mine)
			if !refused {
				done++
				continue
			}
			lock.Lock()
			if end := time.Now().Add(told(value)); end.After(until) {
				until = end
			}
			lock.Unlock()
		}
	})
}

// created adds an animal and fetches it by the identifier that is read as a T.
func created[T any]() {
	_, body := send(http.DefaultClient, "POST", "/pets", `{"name":"Rex","categoryId":1}`)
	var pet struct{ ID T }
	if err := json.Unmarshal(body, &pet); err != nil {
		panic(err)
	}
	send(http.DefaultClient, "GET", fmt.Sprintf("/pets/%v", pet.ID), "")
}

func shared() *http.Client { return http.DefaultClient }

func own() *http.Client { return &http.Client{Transport: &http.Transport{}} }

// hammered lists without regard to refusals, for longer than other connections have to learn of them.
func hammered() {
	client := own()
	for at := 0; at < 40; at++ {
		ask(client)
		time.Sleep(100 * time.Millisecond)
	}
}

var modes = map[string]func(){
	"pool":       func() { gated(10, 3, shared) },
	"goroutines": func() { gated(6, 5, own) },
	"int64-ids":  created[int64],
	"hammer":     func() { together(10, hammered) },
	"float-ids":  created[any],
}

func main() { modes[os.Args[1]]() }
