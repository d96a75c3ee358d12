/*
 * Leases: three requests on two permits, in processes that may freeze or be killed, against a store
 * that runs each call as one atomic step (leases.lua). Replies may be lost: then a release is sent again, and a renewal
 * may run after the release, which is then sent once more. Checked: no more permits are held than exist, and none is
 * held when all requests and leases have ended.
 *
 * npm run prove:spin
 */

#define REQUESTS 3
#define PERMITS 2

bool held[REQUESTS];
byte count = 0;

/* A lease ends. */
inline free(id) {
  if
  :: held[id] -> held[id] = false; count--
  :: else -> skip
  fi
}

proctype Time() {
  do
  :: atomic { held[0] -> free(0) }
  :: atomic { held[1] -> free(1) }
  :: atomic { held[2] -> free(2) }
  :: timeout -> assert(count == 0); break /* all requests are over */
  od
}

proctype Request(byte me) {
  bool admitted = false;
  byte renewals = 0;
  atomic { /* take */
    if
    :: held[me] -> admitted = true
    :: !held[me] && count < PERMITS -> held[me] = true; count++; admitted = true
    :: else -> skip
    fi
  }
  if
  :: !admitted -> goto over
  :: admitted -> skip
  :: admitted -> goto over /* killed */
  fi;
  do
  :: renewals < 2 -> atomic { /* renew: a lease that has ended is taken again only if a permit is free */
       if
       :: !held[me] && count < PERMITS -> held[me] = true; count++
       :: else -> skip
       fi;
       renewals++
     }
  :: break
  od;
  atomic { free(me) } /* release */
  if
  :: true -> atomic { free(me) } /* sent again, because the reply was lost */
  :: true -> atomic { /* a late renewal runs after the release, so the permit is released once more */
       if
       :: !held[me] && count < PERMITS -> held[me] = true; count++
       :: else -> skip
       fi
     };
     atomic { free(me) }
  :: skip
  fi;
over:
  skip
}

/* The process Time checks that no permit is held at the end. */
ltl never_more { [] (count <= PERMITS && count == held[0] + held[1] + held[2]) }

init {
  atomic {
    run Time();
    run Request(0);
    run Request(1);
    run Request(2)
  }
}
