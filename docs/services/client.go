// Asks 40 times, one after the other.
package main

import (
	"fmt"
	"io"
	"log"
	"net/http"
)

func main() {
	for number := 0; number < 40; number++ {
		answer, err := http.Get(fmt.Sprintf("http://127.0.0.1:8080/%d", number))
		if err != nil {
			log.Fatal(err)
		}
		body, err := io.ReadAll(answer.Body)
		answer.Body.Close()
		if err != nil || string(body) != fmt.Sprintf("hello /%d\n", number) {
			log.Fatal("wrong: ", answer.Status, err)
		}
	}
	fmt.Println("40 answers")
}
