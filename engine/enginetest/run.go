package enginetest

import (
	"context"
	"crypto/rand"
	"slices"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/dabba-mq/dabba/engine"
	"github.com/dabba-mq/dabba/store"
)

// OpenStore opens a store, and the same data again whenever it is called again. The release function closes it; a
// store that lives in memory alone ignores that.
type OpenStore func() (s store.Store, release func())

// NewStore makes an OpenStore over empty data. It is called inside a synctest bubble; now is the clock to use.
type NewStore func(t *testing.T, now func() time.Time) OpenStore

// Trait is something that a kind of store does and others do not.
type Trait uint8

// Echoing: the store may announce one event more than once, for it tells all nodes, and so also the one that it has told
// already. So there may be more waiters woken than there are messages, and a younger one may be faster.
const Echoing Trait = 1

// Run runs all transcripts and all tests against a kind of store.
func Run(t *testing.T, newStore NewStore, traits ...Trait) {
	t.Helper()
	t.Run("transcripts", func(t *testing.T) {
		t.Parallel()
		runTranscripts(t, newStore)
	})
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				b := setup(t, newStore)
				b.echoing = slices.Contains(traits, Echoing)
				test(b)
			})
		})
	}
}

// tests are those written in Go, by name.
var tests = map[string]func(*bundle){
	"WaiterIsWokenBySend":                        waiterIsWokenBySend,
	"WaiterIsWokenByEndOfDelay":                  waiterIsWokenByEndOfDelay,
	"WaiterIsWokenByEndOfLease":                  waiterIsWokenByEndOfLease,
	"WaiterIsWokenByNack":                        waiterIsWokenByNack,
	"WaiterIsWokenByEndOfBackoff":                waiterIsWokenByEndOfBackoff,
	"WaiterIsWokenByVisibilityZero":              waiterIsWokenByVisibilityZero,
	"WaiterIsWokenByDeliveryWithoutLease":        waiterIsWokenByDeliveryWithoutLease,
	"WaiterIsWokenByShorterLease":                waiterIsWokenByShorterLease,
	"WaiterIsWokenByDeadLetter":                  waiterIsWokenByDeadLetter,
	"WaiterIsWokenByUndo":                        waiterIsWokenByUndo,
	"WaitersAreServedOldestFirst":                waitersAreServedOldestFirst,
	"WakeOfOneThatHangsUpIsHandedOn":             wakeOfOneThatHangsUpIsHandedOn,
	"WakeOfOneThatFailsIsHandedOn":               wakeOfOneThatFailsIsHandedOn,
	"IdleWaitersCostNothing":                     idleWaitersCostNothing,
	"WaiterOfDeletedQueueIsTold":                 waiterOfDeletedQueueIsTold,
	"WaiterSurvivesChangeOfConfiguration":        waiterSurvivesChangeOfConfiguration,
	"DrainAnswersAllWaiters":                     drainAnswersAllWaiters,
	"HangUpWhileWaitingLeasesNothing":            hangUpWhileWaitingLeasesNothing,
	"HangUpJustAfterClaimLeasesNothing":          hangUpJustAfterClaimLeasesNothing,
	"NoMessageIsLostOrDoubledAmongManyReceivers": noMessageIsLostOrDoubledAmongManyReceivers,
	"OneRetryCountsOneReceive":                   oneRetryCountsOneReceive,
	"MaxReceivesIsExact":                         maxReceivesIsExact,
	"DeadLettersDyingDuringAMoveAreMoved":        deadLettersDyingDuringAMoveAreMoved,
	"AckedDeadLettersDoNotReturn":                ackedDeadLettersDoNotReturn,
	"LeasesWithOneDeadlineAllEnd":                leasesWithOneDeadlineAllEnd,
	"MessagesOfOneMillisecondHaveDifferentIDs":   messagesOfOneMillisecondHaveDifferentIDs,
	"MessageKeepsAllItSays":                      messageKeepsAllItSays,
	"AnswerIsBoundedInBytes":                     answerIsBoundedInBytes,
	"ConcurrentRepeatsSendOnce":                  concurrentRepeatsSendOnce,
	"ChangeOfConfigurationDisturbsNoCall":        changeOfConfigurationDisturbsNoCall,
	"DeleteLosesNoAcceptedMessage":               deleteLosesNoAcceptedMessage,
	"SettingsThatDidNotArriveAreRepeated":        settingsThatDidNotArriveAreRepeated,
	"AChangeThatCannotBeShownIsApplied":          aChangeThatCannotBeShownIsApplied,
	"GenerationsNobodyKnowsAreDropped":           generationsNobodyKnowsAreDropped,
	"ETagGuardsChanges":                          eTagGuardsChanges,
	"EventsTellWhatHappened":                     eventsTellWhatHappened,
	"UndoFollowsChangeOfConfiguration":           undoFollowsChangeOfConfiguration,
	"UndoAfterDeleteIsHarmless":                  undoAfterDeleteIsHarmless,
	"JanitorTriesAgain":                          janitorTriesAgain,
	"ManyDelaysAreAllServed":                     manyDelaysAreAllServed,
	"TenantsDoNotMix":                            tenantsDoNotMix,
	"EachCallFollowsAChange":                     eachCallFollowsAChange,
	"ParkedMessagesAllMove":                      parkedMessagesAllMove,
	"ManyMessagesExpireWithoutPause":             manyMessagesExpireWithoutPause,
	"ManyQueuesOpen":                             manyQueuesOpen,
	"AQueueThatCannotBeCountedIsLeftOut":         aQueueThatCannotBeCountedIsLeftOut,
	"PartsThatDoNotAnswerHoldUpNoCount":          partsThatDoNotAnswerHoldUpNoCount,
	"KnownQueuesAreCountedWithoutTheCatalog":     knownQueuesAreCountedWithoutTheCatalog,
	"RedriveLosesAndDoublesNothingInACrash":      redriveLosesAndDoublesNothingInACrash,
	"EditLosesAndDoublesNothingInACrash":         editLosesAndDoublesNothingInACrash,
	"RedriveTellsEachBatch":                      redriveTellsEachBatch,
	"RedriveKeepsItsRate":                        redriveKeepsItsRate,
	"RedrivesTakeTurns":                          redrivesTakeTurns,
	"RedriveFindsTheNewest":                      redriveFindsTheNewest,
	"CancelStopsARedriveAtOnce":                  cancelStopsARedriveAtOnce,
	"ArrivalsAreNotARedrives":                    arrivalsAreNotARedrives,
	"FailedStepsAreTriedAgain":                   failedStepsAreTriedAgain,
	"FinishedTasksAreForgotten":                  finishedTasksAreForgotten,
	"UnreadableTaskHoldsUpNoOther":               unreadableTaskHoldsUpNoOther,
	"AnotherNodeGoesOnWithARedrive":              anotherNodeGoesOnWithARedrive,
	"WaitersAreWokenByResume":                    waitersAreWokenByResume,
	"WaiterIsWokenByEndOfPause":                  waiterIsWokenByEndOfPause,
	"WaiterIsPausedWhileItWaits":                 waiterIsPausedWhileItWaits,
	"DeliveriesAreSettledWhilePaused":            deliveriesAreSettledWhilePaused,
	"DeadLettersMoveIntoAPausedQueue":            deadLettersMoveIntoAPausedQueue,
	"AnotherNodePausesAndResumes":                anotherNodePausesAndResumes,
	"PauseChangesTheETagOnly":                    pauseChangesTheETagOnly,
	"ManyAreWokenByAnyQueue":                     manyAreWokenByAnyQueue,
	"ManyAreWokenByTime":                         manyAreWokenByTime,
	"ManyKeepTheirPlace":                         manyKeepTheirPlace,
	"WakeOfTheOtherQueueIsHandedOn":              wakeOfTheOtherQueueIsHandedOn,
	"WakeOfManyThatFailIsHandedOn":               wakeOfManyThatFailIsHandedOn,
	"ManyThatHangUpLeaseNothing":                 manyThatHangUpLeaseNothing,
	"ManyUndoAllTheirQueues":                     manyUndoAllTheirQueues,
	"ManyAreToldOfADeletedQueue":                 manyAreToldOfADeletedQueue,
	"ManyFollowAQueueThatIsMadeAgain":            manyFollowAQueueThatIsMadeAgain,
	"DrainAnswersMany":                           drainAnswersMany,
	"ManyWaitAsLongAsTheirQueues":                manyWaitAsLongAsTheirQueues,
	"ManyAnswersAreBoundedInBytes":               manyAnswersAreBoundedInBytes,
	"FailureOfALaterQueueLosesNothing":           failureOfALaterQueueLosesNothing,
	"NoSignalIsLostInSeveralLines":               noSignalIsLostInSeveralLines,
	"BrowseStopsWhenTimeIsUp":                    browseStopsWhenTimeIsUp,
	"CursorsDieWithTheirQueue":                   cursorsDieWithTheirQueue,
	"IDsLeadToMovedMessages":                     idsLeadToMovedMessages,
	"RescheduleLosesARaceForTheMessage":          rescheduleLosesARaceForTheMessage,
	"RescheduledMessageIsGoneAtOnce":             rescheduledMessageIsGoneAtOnce,
	"RemoveWinsARaceForTheMessage":               removeWinsARaceForTheMessage,
	"SkipFollowsAChangeOfTheHead":                skipFollowsAChangeOfTheHead,
	"PurgeIsCompleteWhenItReturns":               purgeIsCompleteWhenItReturns,
	"PurgeForgetsDeduplicationIDs":               purgeForgetsDeduplicationIDs,
	"PurgeThatStopsHalfwayIsUnknown":             purgeThatStopsHalfwayIsUnknown,
	"ReleaseGivesBackEverything":                 releaseGivesBackEverything,
	"HidingFollowsTheMessage":                    hidingFollowsTheMessage,
	"HidingGivesUp":                              hidingGivesUp,
	"HidingFollowsAChange":                       hidingFollowsAChange,
	"HidingOfManyIsOneChange":                    hidingOfManyIsOneChange,
	"CoolingOffIsForgotten":                      coolingOffIsForgotten,
	"CoolingOffBeginsOnce":                       coolingOffBeginsOnce,
	"CoolingOffIsSharedByNodes":                  coolingOffIsSharedByNodes,
	"GroupsThatAreFreedWakeWaiters":              groupsThatAreFreedWakeWaiters,
	"ALargeGroupIsDeadLettered":                  aLargeGroupIsDeadLettered,
	"RoomThatIsMadeLetsSendsGoOn":                roomThatIsMadeLetsSendsGoOn,
	"SampleKeepsAShare":                          sampleKeepsAShare,
	"FatesAreTold":                               fatesAreTold,
	"BlockedSendersAllGetIn":                     blockedSendersAllGetIn,
	"BlockedSendFollowsTheQueue":                 blockedSendFollowsTheQueue,
	"OnReceiveFollowsAChange":                    onReceiveFollowsAChange,
	"OnReceiveDeliversNothingItCouldNotAck":      onReceiveDeliversNothingItCouldNotAck,
	"OnReceiveHangUpJustAfterClaimTakesNothing":  onReceiveHangUpJustAfterClaimTakesNothing,
	"CopiesAreAskedFor":                          copiesAreAskedFor,
	"CopiesThereCannotBeAreRefused":              copiesThereCannotBeAreRefused,
	"ARepeatWaitsForCopiesAgain":                 aRepeatWaitsForCopiesAgain,
	"FIFOKeepsTheOrderAmongManyReceivers":        fifoKeepsTheOrderAmongManyReceivers,
}

// bundle is one engine on one store, with the test it serves.
type bundle struct {
	*testing.T
	open    OpenStore
	engine  *engine.Engine
	store   *meddler
	release func()
	// events are told to the engine that starts next.
	events engine.Events
	// echoing is the trait.
	echoing bool
	// ahead is how far the clock of store and engine was put forward, in nanoseconds.
	ahead atomic.Int64
}

// tenant of all queues, unless a test says otherwise.
const tenant = "acme"

func setup(t *testing.T, newStore NewStore) *bundle {
	t.Helper()
	b := &bundle{T: t}
	b.open = newStore(t, b.now)
	b.start()
	t.Cleanup(b.stop)
	return b
}

func (b *bundle) start() {
	b.Helper()
	s, release := b.open()
	b.store = &meddler{Store: s}
	e, err := engine.Open(b.Context(), b.store, engine.Options{Now: b.now, Rand: rand.Reader, Events: b.events})
	if err != nil {
		b.Fatalf("open the engine: %v", err)
	}
	b.engine, b.release = e, release
	synctest.Wait()
}

func (b *bundle) stop() {
	b.Helper()
	if err := b.engine.Close(context.WithoutCancel(b.Context())); err != nil {
		b.Errorf("close the engine: %v", err)
	}
	b.release()
}

// restart is what a clean restart of the server does.
func (b *bundle) restart() {
	b.Helper()
	b.stop()
	b.start()
}

// now is the clock of store and engine.
func (b *bundle) now() time.Time { return time.Now().Add(time.Duration(b.ahead.Load())) }

// jump puts the clock of store and engine forward, while no time passes, and lets everything happen that is due by it.
func (b *bundle) jump(d time.Duration) {
	b.ahead.Add(int64(d))
	b.engine.ClockChanged()
	synctest.Wait()
}

// advance lets time pass and everything happen that it makes due.
func (b *bundle) advance(d time.Duration) {
	time.Sleep(d)
	synctest.Wait()
}
