// merge_edge_codes: single codes into the high halves of bytes whose low halves stay. Where a shard
// ends inside a byte, the rank that sends the byte takes the other code from the rank that has it.
/* diecast
tune     int   THREADS {128, 256} = 128
size     count                                           // codes
size     gathered
arg      merges in    i64  [count, 2]  align 16          // address of the byte, index of its code in edges
arg      edges  in    u8   [gathered]
arg      count
arg      gathered
require  THREADS % 32 == 0                               // whole warps
launch   grid(ceil_div(count, THREADS)) block(THREADS)
exchange none                                            // threads never wait for one another
sample   count {0, 1, 129}
*/

DIECAST_KERNEL {
  const i64 at = i64{blockIdx.x} * THREADS + threadIdx.x;
  if (at >= count) return;
  u8* byte = reinterpret_cast<u8*>(merges[2 * at]);
  *byte = static_cast<u8>((*byte & 0x0Fu) | u32{edges[merges[2 * at + 1]]} << 4);
}
