/* The small model of `agents.py`, said to SPIN: the same moves by the same names.
 * A queue is its length and its prompts as the digits of a number to the base 3, the oldest first.
 * Agents are 0 and 1; ids are 1 and 2, and 0 is none. Each move is one transition. */

#ifndef MOST
#define MOST 2
#endif

#define NEW 0
#define PREPARING 1
#define IDLE 2
#define RUNNING 3
#define CANCELLED 4
#define EXITED 5

byte phase[2], id[2], length[2], current[2], outcome[2], stage[2];
short queue[2];
bool agents[3], sessions[3];
byte owner;

#define LIVE(n) (phase[n] == IDLE || phase[n] == RUNNING || phase[n] == CANCELLED)
#define ALONE(n) (!(phase[n] == RUNNING && stage[n] > 0) && !(length[n] > 0 && stage[n] > 0) && \
    (!LIVE(n) || stage[n] > 2 || agents[id[n]]))
#define ENTRIES ((sessions[1] || !agents[1]) && (sessions[2] || !agents[2]))
#define HOLDS assert(ALONE(0) && ALONE(1) && ENTRIES && !(LIVE(0) && LIVE(1) && id[0] == id[1]))

#define POWER(n) (length[n] == 0 -> 1 : (length[n] == 1 -> 3 : (length[n] == 2 -> 9 : (length[n] == 3 -> 27 : 81))))
#define CUT(n) queue[n] = 0; length[n] = 0
#define BREAK(n) phase[n] = (phase[n] == RUNNING -> CANCELLED : phase[n])

#define MOVES(n) \
:: d_step { phase[n] == NEW -> phase[n] = PREPARING; id[n] = 1 /* create */; HOLDS } \
:: d_step { phase[n] == NEW -> phase[n] = PREPARING; id[n] = 2 /* create */; HOLDS } \
:: d_step { phase[n] == PREPARING && sessions[id[n]] -> \
    phase[n] = NEW; id[n] = 0; outcome[n] = 4 /* refuse */; HOLDS } \
:: d_step { phase[n] == PREPARING && !sessions[id[n]] -> \
    phase[n] = IDLE; agents[id[n]] = true; sessions[id[n]] = true; outcome[n] = 0 /* enter */; HOLDS } \
:: d_step { LIVE(n) && stage[n] == 0 && length[n] < MOST -> \
    queue[n] = queue[n] + POWER(n); length[n] = length[n] + 1 /* send */; HOLDS } \
:: d_step { LIVE(n) && stage[n] == 0 && length[n] < MOST -> \
    queue[n] = queue[n] + 2 * POWER(n); length[n] = length[n] + 1 /* send */; HOLDS } \
:: d_step { LIVE(n) && stage[n] == 0 && (phase[n] == RUNNING || length[n] > 0) -> \
    BREAK(n); CUT(n) /* cancel */; HOLDS } \
:: d_step { LIVE(n) && stage[n] == 0 -> BREAK(n); CUT(n); stage[n] = 1 /* dispose */; HOLDS } \
:: d_step { phase[n] == IDLE && stage[n] == 0 && length[n] > 0 -> \
    phase[n] = RUNNING; current[n] = queue[n] % 3; queue[n] = queue[n] / 3; length[n] = length[n] - 1 /* claim */; HOLDS } \
:: d_step { phase[n] == RUNNING -> phase[n] = IDLE; current[n] = 0; outcome[n] = 1 /* finish */; HOLDS } \
:: d_step { phase[n] == RUNNING -> phase[n] = IDLE; current[n] = 0; outcome[n] = 2 /* fail */; HOLDS } \
:: d_step { phase[n] == RUNNING && owner == 0 -> owner = id[n] /* start_task */; HOLDS } \
:: d_step { phase[n] == RUNNING && owner == id[n] -> owner = 0 /* end_task */; HOLDS } \
:: d_step { phase[n] == CANCELLED -> phase[n] = IDLE; current[n] = 0; outcome[n] = 3 /* stop_turn */; HOLDS } \
:: d_step { stage[n] == 1 && phase[n] == IDLE -> phase[n] = EXITED; stage[n] = 2 /* stop */; HOLDS } \
:: d_step { stage[n] == 2 -> agents[id[n]] = false; stage[n] = 3 /* detach_agent */; HOLDS } \
:: d_step { stage[n] == 3 -> sessions[id[n]] = false; stage[n] = 4 /* detach_session */; HOLDS } \
:: d_step { stage[n] == 4 -> phase[n] = NEW; id[n] = 0; outcome[n] = 0; stage[n] = 0 /* end */; HOLDS }

init {
  do
  MOVES(0)
  MOVES(1)
  od
}
