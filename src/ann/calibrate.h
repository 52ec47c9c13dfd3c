/*
 * calibrate.h
 *		What calibrator.c and calibrate.c share.
 */
#ifndef VX_ANN_CALIBRATE_H
#define VX_ANN_CALIBRATE_H

#include "ann/build.h"
#include "ann/truth.h"

struct VxCalibrator
{
	MemoryContext context;
	float *q; /* queries * dims */
	VxTruth truth;
};

#endif
