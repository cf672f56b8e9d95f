// product_factor: what the sums of an NVFP4 product with one amax each are multiplied by, from the
// amaxes in device memory, and a zero behind it: alpha and beta of a library that makes the product.
/* diecast
tune     int   THREADS   {32, 128} = 32
size     count                                           // products
arg      a_amax  in    f32  [count]
arg      b_amax  in    f32  [count]
arg      factors out   f32  [count, 2]                   // ((alpha * b_amax) * a_amax) * unit, then 0
arg      count
arg      alpha   f32
arg      unit    f32                                     // 1 / (6 * bound of a * 6 * bound of b)
launch   grid(ceil_div(count, THREADS)) block(THREADS)
exchange none                                            // threads never wait for one another
sample   count {0, 1, 33}
*/
DIECAST_KERNEL {
  const i64 i = i64{blockIdx.x} * THREADS + threadIdx.x;
  if (i >= count) return;
  factors[2 * i] = ((alpha * b_amax[i]) * a_amax[i]) * unit;
  factors[2 * i + 1] = 0.0f;
}
