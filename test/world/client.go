// Sends messages to svc by net/http, and receives the replies. Called by clients.ts.
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

type said struct {
	Statuses    []int       `json:"statuses"`
	WrongSecret int         `json:"wrongSecret"`
	BrokenJson  int         `json:"brokenJson"`
	Replies     [][2]string `json:"replies"`
}

// Sends a message; one of two parts goes in chunks, after waiting for a 100.
func post(url, secret string, parts ...string) int {
	var body io.Reader = strings.NewReader(strings.Join(parts, ""))
	if len(parts) > 1 {
		reader, writer := io.Pipe()
		go func() {
			for _, part := range parts {
				io.WriteString(writer, part)
			}
			writer.Close()
		}()
		body = reader
	}
	request, _ := http.NewRequest("POST", url, body)
	request.Header.Set("Authorization", "Bearer "+secret)
	request.Header.Set("Content-Type", "application/json")
	if len(parts) > 1 {
		request.Header.Set("Expect", "100-continue")
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 0
	}
	defer response.Body.Close()
	io.Copy(io.Discard, response.Body)
	return response.StatusCode
}

func main() {
	url, secret, port := os.Args[1], os.Args[2], os.Args[3]
	people, _ := strconv.Atoi(os.Args[4])
	each, _ := strconv.Atoi(os.Args[5])
	var lock sync.Mutex
	var result said
	allCame := make(chan bool)
	http.HandleFunc("/replies", func(w http.ResponseWriter, r *http.Request) {
		var reply struct {
			Conversation string `json:"conversation_id"`
			Text         string `json:"text"`
		}
		json.NewDecoder(r.Body).Decode(&reply)
		lock.Lock()
		result.Replies = append(result.Replies, [2]string{reply.Conversation, reply.Text})
		if len(result.Replies) == people*each {
			close(allCame)
		}
		lock.Unlock()
		w.WriteHeader(http.StatusNoContent)
	})
	go http.ListenAndServe("127.0.0.1:"+port, nil)
	var speaking sync.WaitGroup
	for person := 0; person < people; person++ {
		speaking.Add(1)
		go func() {
			defer speaking.Done()
			for at := 0; at < each; at++ {
				whole, _ := json.Marshal(map[string]string{
					"sender_id": fmt.Sprintf("person-%d", person),
					"text":      fmt.Sprintf("Grüße 你好 🎉 %d", at),
				})
				parts := []string{string(whole)}
				if at%2 == 1 {
					parts = []string{string(whole[:9]), string(whole[9:])}
				}
				status := post(url, secret, parts...)
				lock.Lock()
				result.Statuses = append(result.Statuses, status)
				lock.Unlock()
			}
		}()
	}
	speaking.Wait()
	result.WrongSecret = post(url, "nobody", "{}")
	result.BrokenJson = post(url, secret, "{")
	select {
	case <-allCame:
	case <-time.After(time.Minute):
	}
	lock.Lock()
	json.NewEncoder(os.Stdout).Encode(result)
}
