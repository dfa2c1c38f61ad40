# Where a program begins on TILE-Gx Linux, and how it asks the kernel for anything.

# At the start sp points to the number of arguments, with their addresses behind it. A callee may
# write into the 16 octets at its caller's sp, which is aligned to 8; we give it a cache line.
	.text
	.globl	_start
	.type	_start, @function
_start:
	move	r30, sp
	move	r52, zero
	move	lr, zero
	addi	sp, sp, -64
	andi	sp, sp, -64
	jal	lockstep_construct
	ld	r0, r30
	addi	r1, r30, 8
	jal	main
	jal	exit
	ill
	.size	_start, .-_start

# long lockstep_call(long number, long first, ..., long sixth): the kernel's answer, or its errno
# made negative. The number goes in r10 and the six in r0 to r5; r0 is the answer, r1 the errno.
	.globl	lockstep_call
	.type	lockstep_call, @function
lockstep_call:
	move	r10, r0
	move	r0, r1
	move	r1, r2
	move	r2, r3
	move	r3, r4
	move	r4, r5
	move	r5, r6
	swint1
	beqz	r1, 1f
	sub	r0, zero, r1
1:	jrp	lr
	.size	lockstep_call, .-lockstep_call

	.section .note.GNU-stack, "", @progbits
