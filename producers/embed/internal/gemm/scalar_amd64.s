#include "textflag.h"

// The numbers of exp and gelu in scalar.go.
DATA numbers<>+0(SB)/4, $-87.0
DATA numbers<>+4(SB)/4, $1.4426950408889634
DATA numbers<>+8(SB)/4, $0.693359375
DATA numbers<>+12(SB)/4, $-0.00021219444
DATA numbers<>+16(SB)/4, $0.000198756915
DATA numbers<>+20(SB)/4, $0.0013981999507
DATA numbers<>+24(SB)/4, $0.0083334519073
DATA numbers<>+28(SB)/4, $0.041665795894
DATA numbers<>+32(SB)/4, $0.16666665459
DATA numbers<>+36(SB)/4, $0.50000001201
DATA numbers<>+40(SB)/4, $1.0
DATA numbers<>+44(SB)/4, $-0.5
DATA numbers<>+48(SB)/4, $0.2316418882663604
DATA numbers<>+52(SB)/4, $0.127414796
DATA numbers<>+56(SB)/4, $-0.142248368
DATA numbers<>+60(SB)/4, $0.7107068705
DATA numbers<>+64(SB)/4, $-0.7265760135
DATA numbers<>+68(SB)/4, $0.5307027145
DATA numbers<>+72(SB)/4, $127
DATA numbers<>+76(SB)/4, $0x7fffffff
GLOBL numbers<>(SB), RODATA|NOPTR, $80

#define MIN numbers<>+0(SB)
#define LOG2E numbers<>+4(SB)
#define LN2HI numbers<>+8(SB)
#define LN2LO numbers<>+12(SB)
#define E0 numbers<>+16(SB)
#define E1 numbers<>+20(SB)
#define E2 numbers<>+24(SB)
#define E3 numbers<>+28(SB)
#define E4 numbers<>+32(SB)
#define E5 numbers<>+36(SB)
#define ONE numbers<>+40(SB)
#define MINUSHALF numbers<>+44(SB)
#define GELUP numbers<>+48(SB)
#define A1 numbers<>+52(SB)
#define A2 numbers<>+56(SB)
#define A3 numbers<>+60(SB)
#define A4 numbers<>+64(SB)
#define A5 numbers<>+68(SB)
#define OFFSET numbers<>+72(SB)
#define ABS numbers<>+76(SB)

// EXP replaces the eight numbers in Y0, none above 0, by e to their power; a NaN stays one. Y14 holds ones and Y13 the
// offset of exponents. It overwrites Y1, Y2 and Y15.
#define EXP \
	VBROADCASTSS MIN, Y15; \
	VMAXPS Y0, Y15, Y0; \
	VBROADCASTSS LOG2E, Y15; \
	VMULPS Y15, Y0, Y1; \
	VROUNDPS $0, Y1, Y1; \
	VBROADCASTSS LN2HI, Y15; \
	VFNMADD231PS Y15, Y1, Y0; \
	VBROADCASTSS LN2LO, Y15; \
	VFNMADD231PS Y15, Y1, Y0; \
	VBROADCASTSS E0, Y2; \
	VBROADCASTSS E1, Y15; \
	VFMADD213PS Y15, Y0, Y2; \
	VBROADCASTSS E2, Y15; \
	VFMADD213PS Y15, Y0, Y2; \
	VBROADCASTSS E3, Y15; \
	VFMADD213PS Y15, Y0, Y2; \
	VBROADCASTSS E4, Y15; \
	VFMADD213PS Y15, Y0, Y2; \
	VBROADCASTSS E5, Y15; \
	VFMADD213PS Y15, Y0, Y2; \
	VMULPS Y0, Y2, Y2; \
	VFMADD213PS Y0, Y0, Y2; \
	VADDPS Y14, Y2, Y2; \
	VCVTPS2DQ Y1, Y1; \
	VPADDD Y13, Y1, Y1; \
	VPSLLD $23, Y1, Y1; \
	VMULPS Y1, Y2, Y0

// func geluAVX2x8(x, bias *float32, n uint64)
TEXT ·geluAVX2x8(SB), NOSPLIT, $0-24
	MOVQ x+0(FP), DI
	MOVQ bias+8(FP), SI
	MOVQ n+16(FP), CX
	VBROADCASTSS ONE, Y14
	VPBROADCASTD OFFSET, Y13
	VBROADCASTSS ABS, Y12
	VBROADCASTSS GELUP, Y11
	VBROADCASTSS MINUSHALF, Y10
	VBROADCASTSS A5, Y9
	VBROADCASTSS A4, Y8
loopg:
	VMOVUPS (DI), Y3
	VADDPS (SI), Y3, Y3
	VANDPS Y12, Y3, Y6
	VFMADD213PS Y14, Y11, Y6
	VDIVPS Y6, Y14, Y6
	VMOVAPS Y9, Y7
	VFMADD213PS Y8, Y6, Y7
	VBROADCASTSS A3, Y15
	VFMADD213PS Y15, Y6, Y7
	VBROADCASTSS A2, Y15
	VFMADD213PS Y15, Y6, Y7
	VBROADCASTSS A1, Y15
	VFMADD213PS Y15, Y6, Y7
	VMULPS Y6, Y7, Y7
	VMULPS Y3, Y3, Y0
	VMULPS Y10, Y0, Y0
	EXP
	VMULPS Y7, Y0, Y0
	VSUBPS Y0, Y14, Y1
	VBLENDVPS Y3, Y0, Y1, Y0
	VMULPS Y3, Y0, Y0
	VMOVUPS Y0, (DI)
	ADDQ $32, DI
	ADDQ $32, SI
	SUBQ $8, CX
	JNZ loopg
	VZEROUPPER
	RET

// func maxAVX2x8(x *float32, n uint64) float32
TEXT ·maxAVX2x8(SB), NOSPLIT, $0-20
	MOVQ x+0(FP), DI
	MOVQ n+8(FP), CX
	VMOVUPS (DI), Y0
loopm:
	VMAXPS (DI), Y0, Y0
	ADDQ $32, DI
	SUBQ $8, CX
	JNZ loopm
	VEXTRACTF128 $1, Y0, X1
	VMAXPS X1, X0, X0
	VPERMILPS $0x4e, X0, X1
	VMAXPS X1, X0, X0
	VPERMILPS $0xb1, X0, X1
	VMAXPS X1, X0, X0
	VZEROUPPER
	MOVSS X0, ret+16(FP)
	RET

// func expAVX2x8(x *float32, n uint64, top float32) float32
TEXT ·expAVX2x8(SB), NOSPLIT, $0-28
	MOVQ x+0(FP), DI
	MOVQ n+8(FP), CX
	VBROADCASTSS top+16(FP), Y12
	VBROADCASTSS ONE, Y14
	VPBROADCASTD OFFSET, Y13
	VXORPS Y3, Y3, Y3
loope:
	VMOVUPS (DI), Y0
	VSUBPS Y12, Y0, Y0
	EXP
	VMOVUPS Y0, (DI)
	VADDPS Y0, Y3, Y3
	ADDQ $32, DI
	SUBQ $8, CX
	JNZ loope
	VEXTRACTF128 $1, Y3, X1
	VADDPS X1, X3, X3
	VPERMILPS $0x4e, X3, X1
	VADDPS X1, X3, X3
	VPERMILPS $0xb1, X3, X1
	VADDPS X1, X3, X3
	VZEROUPPER
	MOVSS X3, ret+24(FP)
	RET

// func expandAVX2x16(dst *float32, src *byte, scales *float32, rows uint64)
TEXT ·expandAVX2x16(SB), NOSPLIT, $0-32
	MOVQ dst+0(FP), DI
	MOVQ src+8(FP), SI
	MOVQ scales+16(FP), AX
	MOVQ rows+24(FP), CX
	VMOVUPS (AX), Y2
	VMOVUPS 32(AX), Y3
loopx:
	VPMOVSXBD (SI), Y0
	VPMOVSXBD 8(SI), Y1
	VCVTDQ2PS Y0, Y0
	VCVTDQ2PS Y1, Y1
	VMULPS Y2, Y0, Y0
	VMULPS Y3, Y1, Y1
	VMOVUPS Y0, (DI)
	VMOVUPS Y1, 32(DI)
	ADDQ $16, SI
	ADDQ $64, DI
	DECQ CX
	JNZ loopx
	VZEROUPPER
	RET

// func expandAVX512x16(dst *float32, src *byte, scales *float32, rows uint64)
TEXT ·expandAVX512x16(SB), NOSPLIT, $0-32
	MOVQ dst+0(FP), DI
	MOVQ src+8(FP), SI
	MOVQ scales+16(FP), AX
	MOVQ rows+24(FP), CX
	VMOVUPS (AX), Z2
loopxz:
	VPMOVSXBD (SI), Z0
	VCVTDQ2PS Z0, Z0
	VMULPS Z2, Z0, Z0
	VMOVUPS Z0, (DI)
	ADDQ $16, SI
	ADDQ $64, DI
	DECQ CX
	JNZ loopxz
	VZEROUPPER
	RET
