/*
 * Claims: three requests with one idempotency key, in processes that may freeze, against a store that runs
 * each call as one atomic step (claims.lua). A lease may end at any time, as if a process stopped for longer than the
 * lease lasts. Checked: a request that is done never runs again, a request that lost its claim changes nothing, and no
 * two requests hold the claim.
 *
 * npm run prove:spin
 */

#define REQUESTS 3
#define NOBODY 255

mtype = { FREE, RUNNING, DONE };

mtype state = FREE;
byte owner = NOBODY;
byte done_by = NOBODY; /* the first request whose `done` was accepted */
bool holds[REQUESTS];  /* which requests have a lease that has not ended by the store's clock */

/* A lease ends. */
proctype Time() {
  do
  :: atomic {
       state == RUNNING ->
       holds[owner] = false;
       state = FREE;
       owner = NOBODY
     }
  :: timeout -> break
  od
}

proctype Request(byte me) {
  bool mine = false;
  do
  :: true -> atomic { /* take */
       if
       :: state == FREE ->
          assert(done_by == NOBODY);
          state = RUNNING;
          owner = me;
          holds[me] = true;
          mine = true
       :: state == RUNNING && owner == me -> mine = true /* the reply was lost, so the call was sent again */
       :: else -> mine = false /* 409, or the response of the other request */
       fi
     }
     if
     :: !mine -> break
     :: mine -> skip
     fi;
     /* The handler runs here, for as long as it likes. */
     do
     :: true -> atomic { /* renew */
          if
          :: state == FREE || (state == RUNNING && owner == me) ->
             state = RUNNING;
             owner = me;
             holds[me] = true
          :: else -> skip
          fi
        }
     :: break
     od;
     if
     :: true -> atomic { /* done; if it is sent again, it changes nothing */
          if
          :: state == FREE || (state == RUNNING && owner == me) ->
             assert(done_by == NOBODY);
             state = DONE;
             owner = me;
             holds[me] = false;
             done_by = me
          :: state == DONE && owner == me -> skip
          :: else -> skip /* the claim was lost: another request runs, or is done */
          fi
        };
        break
     :: true -> atomic { /* gives up */
          if
          :: state == RUNNING && owner == me ->
             state = FREE;
             owner = NOBODY;
             holds[me] = false
          :: else -> skip
          fi
        };
        break
     :: break /* it was killed: the lease ends */
     fi
  od
}

/* True in every state: at most one request holds the claim, and a claim that is done keeps its owner. */
ltl one_holder { [] (holds[0] + holds[1] + holds[2] <= 1) }
ltl done_stays { [] (done_by != NOBODY -> (state == DONE && owner == done_by)) }

init {
  atomic {
    run Time();
    run Request(0);
    run Request(1);
    run Request(2)
  }
}
