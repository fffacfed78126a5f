// A service that works for 20 ms on each request, and stops when its client leaves.
package main

import (
	"fmt"
	"log"
	"net/http"
	"os"
	"time"
)

func main() {
	http.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) {
		select {
		case <-time.After(20 * time.Millisecond):
			fmt.Fprintf(w, "hello %s\n", r.URL.Path)
		case <-r.Context().Done():
			// Nobody waits for the answer any more.
		}
	})
	log.Fatal(http.ListenAndServe("127.0.0.1:"+os.Args[1], nil))
}
