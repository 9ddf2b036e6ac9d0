// Package memlimit bounds the memory that requests take: it finds out how much the process may have, and shares that out.
//
// There is one [Budget] in a server. Whatever allocates in proportion to what a client sends or asks for charges it first:
// the wires for bodies, what is decoded from them and answers, the engine for messages made ready for the store, the stores
// for what they read. A request has one [Share], which travels in its context, grows by what each layer needs and is given
// back as a whole when the request ends. So nothing is counted twice, and no layer has to give anything back. What does not
// fit is refused at once with an [*Error]; nothing waits.
//
// What is counted is what the heap holds, as estimated by who allocates. An estimate that is too low is seen by the garbage
// collector: what is alive beyond the shares shrinks the budget (see [Budget.Collected]). It imports nothing of this module.
package memlimit
