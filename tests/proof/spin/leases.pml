/*
 * Leases: three requests on two permits, in processes that may freeze or be killed, against a store that is one atomic
 * step for each call (leases.lua). Replies may be lost: then a release is sent again, and a renewal may be run after the
 * release, which is then sent once more. Checked: no more permits are held than there are, and when all requests are
 * over and all leases have ended, none is.
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
  :: renewals < 2 -> atomic { /* renew: what has ended is taken again only where there is room */
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
  :: true -> atomic { /* a renewal that was under way is run after the release, and given back once more */
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

/* And at the end, see Time, none is held. */
ltl never_more { [] (count <= PERMITS && count == held[0] + held[1] + held[2]) }

init {
  atomic {
    run Time();
    run Request(0);
    run Request(1);
    run Request(2)
  }
}
