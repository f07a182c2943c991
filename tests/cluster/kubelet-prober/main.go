// The kubelet's own prober against targets that stand for pods: its workers, its results and its metrics, with nothing
// around them. It asks each for GET /healthz until it is told to end.
package main

import (
	"fmt"
	"os"
	"os/signal"
	"strconv"
	"syscall"
	"time"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/client-go/kubernetes/fake"
	"k8s.io/client-go/tools/record"
	"k8s.io/klog/v2"
	"k8s.io/kubernetes/pkg/kubelet/pod"
	"k8s.io/kubernetes/pkg/kubelet/prober"
	"k8s.io/kubernetes/pkg/kubelet/prober/results"
	"k8s.io/kubernetes/pkg/kubelet/status"
	"k8s.io/kubernetes/pkg/kubelet/util"
)

func main() {
	if len(os.Args) != 4 {
		fmt.Fprintln(os.Stderr, "usage: kubelet-prober TARGETS PERIOD_SECONDS PORT")
		os.Exit(2)
	}
	targets, period, port := number(os.Args[1]), number(os.Args[2]), number(os.Args[3])
	pods := pod.NewBasicPodManager()
	statuses := status.NewManager(&fake.Clientset{}, pods, running{}, util.NewPodStartupLatencyTracker())
	liveness, readiness, startup := results.NewManager(), results.NewManager(), results.NewManager()
	go func() {
		for {
			select {
			case <-liveness.Updates():
			case <-readiness.Updates():
			case <-startup.Updates():
			}
		}
	}()
	manager := prober.NewManager(statuses, liveness, readiness, startup, nil, &record.FakeRecorder{})
	for i := range targets {
		pod := target(i, period, port)
		pods.AddPod(pod)
		statuses.SetPodStatus(klog.Background(), pod, pod.Status)
		manager.AddPod(pod)
	}
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, syscall.SIGTERM, os.Interrupt)
	<-signals
}

// running says of every pod that its containers may run.
type running struct{}

func (running) PodCouldHaveRunningContainers(*v1.Pod) bool { return true }

// target is a pod whose container has started, with a liveness probe.
func target(i, period, port int) *v1.Pod {
	started := true
	address := fmt.Sprintf("127.%d.%d.%d", 1+i>>16, i>>8&255, i&255)
	get := &v1.HTTPGetAction{Path: "/healthz", Port: intstr.FromInt32(int32(port))}
	probe := &v1.Probe{
		ProbeHandler:     v1.ProbeHandler{HTTPGet: get},
		TimeoutSeconds:   1,
		PeriodSeconds:    int32(period),
		SuccessThreshold: 1,
		FailureThreshold: 3,
	}
	state := v1.ContainerState{Running: &v1.ContainerStateRunning{StartedAt: metav1.NewTime(time.Now())}}
	container := v1.ContainerStatus{Name: "app", ContainerID: fmt.Sprintf("none://%d", i), Started: &started, State: state}
	return &v1.Pod{
		ObjectMeta: metav1.ObjectMeta{UID: types.UID(strconv.Itoa(i)), Name: fmt.Sprintf("pod-%d", i), Namespace: "default"},
		Spec:       v1.PodSpec{Containers: []v1.Container{{Name: "app", LivenessProbe: probe}}},
		Status: v1.PodStatus{
			Phase:             v1.PodRunning,
			PodIP:             address,
			PodIPs:            []v1.PodIP{{IP: address}},
			ContainerStatuses: []v1.ContainerStatus{container},
		},
	}
}

func number(text string) int {
	number, err := strconv.Atoi(text)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(2)
	}
	return number
}
