// Process of a pod's sandbox: waits for a signal and reaps processes without a parent.
package main

import (
	"os"
	"os/signal"
	"syscall"
)

func main() {
	c := make(chan os.Signal, 8)
	signal.Notify(c, syscall.SIGINT, syscall.SIGTERM, syscall.SIGCHLD)
	for s := range c {
		if s != syscall.SIGCHLD {
			return
		}
		var w syscall.WaitStatus
		for {
			if p, err := syscall.Wait4(-1, &w, syscall.WNOHANG, nil); p <= 0 || err != nil {
				break
			}
		}
	}
	os.Exit(0)
}
