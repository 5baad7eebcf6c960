/* The smallest core, a second time: two agents, each a process of its own, told by somebody who thinks in processes.
 *
 * An inbox is a channel, and the two registries are one number for each name: how many of its two entries stand. The
 * session enters first and leaves last, so that number says which. Agents are 0 and 1, names are 0 and 1. Each option
 * is one action, by the name in its first comment, and nothing comes between its parts.
 *
 * DEFECT 1: who is told to go keeps what waits for it. DEFECT 2: nobody looks whether a name is taken.
 */

#ifndef MOST
#define MOST 2
#endif
#ifndef DEFECT
#define DEFECT 0
#endif

#define NOBODY 9

mtype = { absent, private, resting, working, halted, gone };
mtype = { none, fine, broken, cut, turned_away };

mtype doing[2] = absent;
mtype last[2] = none;
byte name[2] = NOBODY;
byte work[2];         /* what the turn is about, 1 or 2; 0 without one */
byte farewell[2];     /* how far the end has come: told, stopped, one entry gone, both gone */
byte entries[2];      /* by name */
byte patron = NOBODY; /* the name on the one background task */
chan inbox[2] = [MOST] of { byte };

#define me _pid
#define LIVES(a) (doing[a] == resting || doing[a] == working || doing[a] == halted)
#define FINE(a) (farewell[a] == 0 || (doing[a] != working && len(inbox[a]) == 0)) && \
    (!LIVES(a) || farewell[a] > 2 || entries[name[a]] == 2)
#define HOLDS assert(FINE(0)); assert(FINE(1)); assert(!LIVES(0) || !LIVES(1) || name[0] != name[1])

inline halt() { if :: doing[me] == working -> doing[me] = halted :: else fi }
inline empty_inbox() { do :: nempty(inbox[me]) -> inbox[me] ? _ :: empty(inbox[me]) -> break od }

active [2] proctype agent() {
end:
  do
  :: d_step { /* create */ doing[me] == absent -> doing[me] = private; name[me] = 0; HOLDS }
  :: d_step { /* create */ doing[me] == absent -> doing[me] = private; name[me] = 1; HOLDS }
#if DEFECT != 2
  :: d_step { /* refuse */ doing[me] == private && entries[name[me]] > 0 ->
       doing[me] = absent; name[me] = NOBODY; last[me] = turned_away; HOLDS }
#endif
  :: d_step { /* enter */ doing[me] == private && (entries[name[me]] == 0 || DEFECT == 2) ->
       doing[me] = resting; entries[name[me]] = 2; last[me] = none; HOLDS }
  :: d_step { /* send */ LIVES(me) && !farewell[me] && nfull(inbox[me]) -> inbox[me] ! 1; HOLDS }
  :: d_step { /* send */ LIVES(me) && !farewell[me] && nfull(inbox[me]) -> inbox[me] ! 2; HOLDS }
  :: d_step { /* claim */ doing[me] == resting && !farewell[me] && nempty(inbox[me]) ->
       doing[me] = working; inbox[me] ? work[me]; HOLDS }
  :: d_step { /* finish */ doing[me] == working -> doing[me] = resting; work[me] = 0; last[me] = fine; HOLDS }
  :: d_step { /* fail */ doing[me] == working -> doing[me] = resting; work[me] = 0; last[me] = broken; HOLDS }
  :: d_step { /* start_task */ doing[me] == working && patron == NOBODY -> patron = name[me]; HOLDS }
  :: d_step { /* end_task */ doing[me] == working && patron == name[me] -> patron = NOBODY; HOLDS }
  :: d_step { /* cancel */ LIVES(me) && !farewell[me] && (doing[me] == working || nempty(inbox[me])) ->
       halt(); empty_inbox(); HOLDS }
  :: d_step { /* stop_turn */ doing[me] == halted -> doing[me] = resting; work[me] = 0; last[me] = cut; HOLDS }
  :: d_step { /* dispose */ LIVES(me) && !farewell[me] ->
       halt(); farewell[me] = 1;
#if DEFECT != 1
       empty_inbox();
#endif
       HOLDS }
  :: d_step { /* stop */ farewell[me] == 1 && doing[me] == resting -> doing[me] = gone; farewell[me] = 2; HOLDS }
  :: d_step { /* detach_agent */ farewell[me] == 2 -> entries[name[me]] = 1; farewell[me] = 3; HOLDS }
  :: d_step { /* detach_session */ farewell[me] == 3 -> entries[name[me]] = 0; farewell[me] = 4; HOLDS }
  :: d_step { /* end */ farewell[me] == 4 ->
       doing[me] = absent; name[me] = NOBODY; last[me] = none; farewell[me] = 0; HOLDS }
  od
}
